import type { IncomingMessage } from 'node:http';
import type { z } from 'zod';
import { byteCount } from '../../errors/byte-count.js';
import { printable } from '../../errors/printable.js';
import { isObject } from '../../formats/json.js';
import { ApiError } from './api-error.js';

/** Bytes of a request: a million token ids take about 7 MB. */
const MOST_BYTES = 32e6;

/**
 * Reads the JSON object that a request brings.
 *
 * @throws ApiError: it is too large, or no JSON object
 */
export async function readBody(request: IncomingMessage): Promise<Record<string, unknown>> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const tooLarge = () =>
    new ApiError(413, `The request is larger than ${byteCount(MOST_BYTES)}.`, {
      headers: { connection: 'close' },
    });
  if (Number(request.headers['content-length']) > MOST_BYTES) throw tooLarge();
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MOST_BYTES) throw tooLarge();
    chunks.push(chunk);
  }
  let body: unknown;
  try {
    body = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks)));
  } catch (cause) {
    throw new ApiError(
      400,
      `The body of the request is not JSON: ${printable((cause as Error).message, 200)}`,
    );
  }
  if (!isObject(body)) throw new ApiError(400, 'The body of the request is JSON, but not an object.');
  return body;
}

/**
 * Checks the fields of a request. Unknown ones are ignored, as vLLM ignores them.
 *
 * @throws ApiError, which names the first wrong field
 */
export function readFields<T extends z.ZodType>(schema: T, body: Record<string, unknown>): z.output<T> {
  const { data, error } = schema.safeParse(body);
  if (!error) return data;
  const { path, message } = deepest(error.issues[0]!);
  const param = path.length > 0 ? path.join('.') : undefined;
  throw new ApiError(400, param === undefined ? message : `${param}: ${message}`, { param });
}

/** Of several forms that a field may have, the complaint of the one that it comes nearest to. */
function deepest(issue: z.core.$ZodIssue): { path: PropertyKey[]; message: string } {
  if (issue.code !== 'invalid_union') return issue;
  const found = issue.errors
    .map((issues) => issues[0])
    .filter((inner) => inner !== undefined && inner.path.length > 0)
    .map((inner) => deepest(inner!))[0];
  return found ? { path: [...issue.path, ...found.path], message: found.message } : issue;
}
