import type { z } from 'zod';
import { Refusal, WrongAnswer } from './server-error.js';

/** @throws WrongAnswer that names the field */
export function readAnswer<T extends z.ZodType>(path: string, schema: T, answer: unknown): z.output<T> {
  const read = schema.safeParse(answer);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  const where = issue!.path.length > 0 ? `, ${issue!.path.join('.')}` : '';
  throw new WrongAnswer(`its answer to ${path} is not as expected${where}: ${issue!.message}`);
}

/** The number type that a server tells, as PyTorch names it; undefined where it leaves that to the model's files. */
export const dtypeIn = (told: string | null | undefined): string | undefined =>
  told == null || told === 'auto' ? undefined : told.replace(/^torch\./, '');

/** The answer to a question that not every server takes; undefined from those that do not. */
export async function unlessUnknown<T>(question: Promise<T>): Promise<T | undefined> {
  try {
    return await question;
  } catch (error) {
    if (error instanceof Refusal && [404, 405, 501].includes(error.status)) return undefined;
    throw error;
  }
}
