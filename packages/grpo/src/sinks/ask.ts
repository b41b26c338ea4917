import { excerpt } from '../errors/printable.js';
import { isObject } from '../formats/json.js';
import { fetchReason } from '../http/fetch-reason.js';
import { retryAfter } from '../http/retry-after.js';
import { withoutSecrets } from './secrets.js';
import { Undelivered } from './sink.js';

/** Seconds that one request may take. */
const PATIENCE = 30;

/** A server that takes JSON. */
export interface Server {
  /** Without a slash at the end. */
  url: string;
  /** Shown in place of the address, which may be a secret. */
  name: string;
  authorization?: string | undefined;
  /** Texts that are masked in every message, whatever the server answers. */
  secrets: readonly string[];
  /** The remedy for 401 and 403. */
  unauthorized: string;
}

/** The server says no; `code` is its own name for that. */
export class Refused extends Undelivered {
  constructor(
    message: string,
    readonly status: number,
    readonly code: string | undefined,
    retryAfterSeconds: number | undefined,
  ) {
    super(message, retryAfterSeconds);
  }
}

/**
 * One request, and the text that the server answers.
 *
 * @throws Refused, or Undelivered where there is no answer
 */
export async function ask(
  server: Server,
  method: 'GET' | 'POST',
  path: string,
  body?: object,
): Promise<string> {
  const { url, name, authorization } = server;
  let response: Response;
  let text: string;
  try {
    response = await fetch(url + path, {
      method,
      // A key goes to the server that it was given for.
      redirect: 'manual',
      signal: AbortSignal.timeout(1000 * PATIENCE),
      headers: {
        'user-agent': 'grpo',
        ...(body && { 'content-type': 'application/json' }),
        ...(authorization !== undefined && { authorization }),
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    text = await response.text();
  } catch (error) {
    throw new Undelivered(`no connection to ${name}: ${withoutSecrets(reasonOf(error), server.secrets)}`);
  }
  if (response.ok) return text;
  throw refusal(response, text, server);
}

const reasonOf = (error: unknown): string =>
  (error as Error).name === 'TimeoutError' ? `no answer within ${PATIENCE} s` : fetchReason(error);

function refusal({ status, headers }: Response, text: string, server: Server): Refused {
  const answer = objectIn(text) ?? {};
  const code = typeof answer.error_code === 'string' ? answer.error_code : undefined;
  const said = typeof answer.message === 'string' ? answer.message : text.trim();
  const advice = status === 401 || status === 403 ? `. ${server.unauthorized}` : '';
  const shown = said === '' ? '' : `: ${excerpt(withoutSecrets(said, server.secrets))}`;
  const message = `${server.name} answers ${status}${shown}${advice}`;
  return new Refused(message, status, code, retryAfter(headers.get('retry-after')));
}

/** The object that an answer is; undefined for any other answer, such as the page of a proxy. */
export function objectIn(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
