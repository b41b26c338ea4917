import type { StepRecord } from '../../trace/index.js';

/** Messages of a prompt. */
export interface Said {
  role: string;
  content: string;
}

/** Whether a value of a conversation is a message of plain text. */
export const isMessage = (value: unknown): value is Said =>
  typeof value === 'object' &&
  value !== null &&
  typeof (value as Partial<Said>).role === 'string' &&
  typeof (value as Partial<Said>).content === 'string';

/** The special tokens that the template puts around an answer, or that end a completion. */
export const turnTokens = (
  { endIds = [], specialTokens = {} }: NonNullable<StepRecord['tokenizer']>,
  around: string,
): string[] =>
  Object.entries(specialTokens).flatMap(([id, token]) =>
    token !== '' && (around.includes(token) || endIds.includes(Number(id))) ? [token] : [],
  );
