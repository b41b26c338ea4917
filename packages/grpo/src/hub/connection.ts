/** Asking the hub: time-outs, second attempts, and the token, which only the hub itself gets. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Token } from './hub-settings.js';
import { PassingError } from './passing-error.js';
import { refusal, type Subject, unreachable } from './refusal.js';

/** A hub, and how much is put up with. */
export interface Connection {
  /** Without a slash at the end. */
  endpoint: string;
  token: Token | undefined;
  /** Silence after which an attempt is given up. */
  stallSeconds: number;
  /** Attempts in a row that may bring nothing new. */
  attempts: number;
  /** Wait before the second attempt; it doubles from one to the next. */
  delaySeconds: number;
  /** Told of every new attempt. */
  note(text: string): void;
}

const LONGEST_WAIT = 60;

/**
 * Runs `body` until it succeeds. After a {@link PassingError} it is run again, later and later, and given up when
 * several attempts in a row did not raise `progress()`.
 */
export async function persevere<T>(
  { attempts, delaySeconds, note }: Connection,
  progress: () => number,
  body: () => Promise<T>,
): Promise<T> {
  let failures = 0;
  let reached = progress();
  for (;;) {
    try {
      return await body();
    } catch (error) {
      if (!(error instanceof PassingError)) throw error;
      failures = progress() > reached ? 1 : failures + 1;
      reached = Math.max(reached, progress());
      if (failures >= attempts) throw error;
      const wait = Math.max(error.retryAfterSeconds, delaySeconds * 2 ** (failures - 1));
      const seconds = Math.min(wait, LONGEST_WAIT);
      note(`${error.message}. Trying again in ${seconds} s.`);
      await sleep(1000 * seconds);
    }
  }
}

/**
 * One GET. `read` gets the response and its body in pieces; either ends with an error when nothing comes for too long.
 *
 * @throws UserError: the hub refuses. PassingError: it is busy, or the connection broke.
 */
export async function get<T>(
  { endpoint, token, stallSeconds }: Connection,
  subject: Subject,
  url: string,
  headers: Record<string, string>,
  read: (response: Response, pieces: AsyncIterable<Uint8Array>) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(), 1000 * stallSeconds);
  const own = new URL(url).origin === new URL(endpoint).origin;
  // Compressed, a part of a file could not be told from the whole.
  const common = { 'accept-encoding': 'identity', 'user-agent': 'grpo' };
  const authorization = token && own ? { authorization: `Bearer ${token.value}` } : undefined;
  async function* pieces(response: Response): AsyncGenerator<Uint8Array> {
    for await (const piece of response.body ?? []) {
      timer.refresh();
      yield piece;
    }
  }
  try {
    const response = await network(() =>
      fetch(url, { headers: { ...common, ...headers, ...authorization }, signal: controller.signal }),
    );
    if (!response.ok) throw await refusal(response, subject, token);
    return await network(() => read(response, pieces(response)));
  } finally {
    clearTimeout(timer);
    // Whatever has not been read is not wanted.
    controller.abort();
  }

  async function network<R>(action: () => Promise<R>): Promise<R> {
    try {
      return await action();
    } catch (error) {
      if (controller.signal.aborted && (error as Error).name === 'AbortError') {
        throw new PassingError(`${new URL(url).host} has sent nothing for ${stallSeconds} s`, {
          cause: error,
        });
      }
      throw unreachable(error, url);
    }
  }
}

/** `fetch` for the hub library's own calls: patient, with readable errors, the answer read to its end. */
export function patientFetch(connection: Connection, subject: Subject): typeof fetch {
  return (input) =>
    persevere(
      connection,
      () => 0,
      () =>
        get(connection, subject, String(input), { accept: 'application/json' }, async (response, pieces) => {
          const body: Uint8Array[] = [];
          for await (const piece of pieces) body.push(piece);
          const { status, headers } = response;
          return new Response(Buffer.concat(body), { status, headers });
        }),
    );
}
