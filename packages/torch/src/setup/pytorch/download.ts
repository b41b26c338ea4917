import { createHash } from 'node:crypto';
import { createReadStream, existsSync, rmSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDiskError } from '../disk.js';
import type { Missing } from '../layout.js';
import { describeBytes, type Progress, startProgress } from '../progress.js';
import type { Say } from '../say.js';

/** Options of {@link download}; the times are for tests. */
export interface DownloadOptions {
  sha256: string;
  say: Say;
  /** How long a connection may be silent, in milliseconds. */
  silence?: number;
  /** Pauses before each further try, in milliseconds. They begin anew whenever something more has arrived. */
  pauses?: number[];
}

const silenceMilliseconds = 30_000;
const pauseMilliseconds = [1_000, 3_000, 9_000];

/**
 * Downloads to `file`, from where an earlier download of the same file to it stopped, and checks the SHA-256.
 * Without success a part stays in `file`, for the next time, unless it is known to be wrong.
 * @throws an error of the file system where the disk is full or the like.
 */
export async function download(
  url: string,
  file: string,
  options: DownloadOptions,
): Promise<Missing | undefined> {
  const resumed = sizeOf(file) > 0;
  const failure = await fetchWhole(url, file, options);
  if (failure) return failure;
  const found = await sha256Of(file);
  if (found === options.sha256) return undefined;
  rmSync(file);
  // A crash may have torn the part that an earlier run left.
  if (resumed) return download(url, file, options);
  return { why: `${url} has the SHA-256 ${found}, but ${options.sha256} is expected; it was deleted` };
}

async function fetchWhole(url: string, file: string, options: DownloadOptions): Promise<Missing | undefined> {
  const { say, silence = silenceMilliseconds, pauses = pauseMilliseconds } = options;
  const progress = startProgress(say);
  let most = sizeOf(file);
  let failures = 0;
  try {
    for (;;) {
      const failure = await fetchRest(url, file, silence, progress);
      if (!failure) return undefined;
      if (sizeOf(file) > most) failures = 0;
      most = Math.max(most, sizeOf(file));
      const pause = pauses[failures++];
      if (failure.final || pause === undefined) return { why: failure.why };
      say(`The download stopped at ${(sizeOf(file) / 1e6).toFixed(0)} MB (${failure.why}); trying again.`);
      await sleep(pause);
    }
  } finally {
    progress.end();
  }
}

interface Failure {
  why: string;
  /** Trying again would not help. */
  final?: boolean;
}

async function fetchRest(
  url: string,
  file: string,
  silence: number,
  progress: Progress,
): Promise<Failure | undefined> {
  const begun = sizeOf(file);
  let answered = false;
  const silent = new AbortController();
  const timer = setTimeout(() => silent.abort(), silence);
  try {
    // Compressed on the way, the bytes could be neither counted nor resumed.
    const headers = { 'accept-encoding': 'identity', ...(begun > 0 && { range: `bytes=${begun}-` }) };
    const response = await fetch(url, { headers, signal: silent.signal });
    answered = true;
    if (response.status === 416) return rangeRefused(url, file, response);
    if (!response.ok || !response.body) {
      const { status, statusText } = response;
      return { why: `${url} answers ${status} ${statusText}`, final: status < 500 && status !== 429 };
    }
    // A server may ignore the range and send everything.
    const resumes =
      response.status === 206 && response.headers.get('content-range')?.startsWith(`bytes ${begun}-`);
    let have = resumes ? begun : 0;
    const length = response.headers.get('content-length');
    const total = length === null ? undefined : have + Number(length);
    const handle = await open(file, resumes ? 'a' : 'w');
    try {
      for await (const chunk of response.body) {
        timer.refresh();
        await handle.writeFile(chunk);
        have += chunk.byteLength;
        progress.show(describeBytes(have, total));
      }
    } finally {
      await handle.close();
    }
    return undefined;
  } catch (error) {
    if (isDiskError(error)) throw error;
    const { host } = new URL(url);
    if (silent.signal.aborted) return { why: `${host} sent nothing for ${silence / 1000} s` };
    return { why: answered ? `${host} stopped sending: ${causeOf(error)}` : unreachable(url, error) };
  } finally {
    clearTimeout(timer);
    // An answer that was not read would keep its connection.
    silent.abort();
  }
}

// There is nothing after what we have: it is whole already, or no part of this file.
function rangeRefused(url: string, file: string, response: Response): Failure | undefined {
  const total = response.headers.get('content-range')?.match(/^bytes \*\/(\d+)$/)?.[1];
  if (Number(total) === sizeOf(file)) return undefined;
  rmSync(file);
  return { why: `${new URL(url).host} has another file than before` };
}

/** Says that a server did not answer, and why. */
export function unreachable(url: string, error: unknown): string {
  const proxied = process.env.HTTPS_PROXY ?? process.env.https_proxy;
  // Node before 22.21 and 24 cannot; later ones have to be told.
  const hint =
    proxied && !process.env.NODE_USE_ENV_PROXY
      ? '. HTTPS_PROXY is set, which Node heeds from 22.21 and 24.0 on, with NODE_USE_ENV_PROXY=1'
      : '';
  return `${new URL(url).host} cannot be reached: ${causeOf(error)}${hint}`;
}

// `fetch` says no more than "fetch failed"; its cause says why.
function causeOf(error: unknown): string {
  const { message, cause } = error as Error & { cause?: { code?: string; message?: string } };
  // The client's own codes, UND_ERR_…, tell a person less than its words.
  const code = cause?.code?.startsWith('UND_') ? undefined : cause?.code;
  return code ?? cause?.message ?? message;
}

function sizeOf(file: string): number {
  return existsSync(file) ? statSync(file).size : 0;
}

async function sha256Of(file: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer);
  return hash.digest('hex');
}
