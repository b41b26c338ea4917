import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { fileError } from '../errors/file-error.js';
import { type Connection, get, persevere } from './connection.js';
import { PassingError } from './passing-error.js';
import type { Subject } from './refusal.js';

/** What to bring, and where to. */
export interface Transfer {
  subject: Subject;
  url: string;
  /** The file that grows; what it holds already is kept. */
  partial: string;
  /** Bytes of the whole file, as the list of files says. */
  size: number;
  /** Told of the bytes that are there; they may become fewer, where a server cannot go on in the middle. */
  progress(received: number): void;
}

/**
 * Brings a file to its full size over as many connections as it takes. Nothing that a server says of sizes is believed:
 * exactly `size` bytes are taken, and what they are is for the caller to check.
 *
 * @throws UserError: the hub refuses, or several attempts in a row brought nothing. FileError: the disk is full.
 */
export async function transfer(connection: Connection, job: Transfer): Promise<void> {
  // Writing anywhere in it, whether it is there or not: no flag in letters says so.
  const flags = constants.O_RDWR | constants.O_CREAT;
  const file = await written(job.partial, () => open(job.partial, flags, 0o666));
  try {
    let received = (await file.stat()).size;
    if (received > job.size) received = 0;
    const advance = (to: number) => {
      received = to;
      job.progress(to);
    };
    advance(received);
    await persevere(
      connection,
      () => received,
      async () => {
        if (received < job.size) await receive(connection, job, file, received, advance);
        if (received < job.size) {
          throw new PassingError(`${job.subject.file} ended after ${received} of ${job.size} bytes`);
        }
      },
    );
    await written(job.partial, () => file.truncate(job.size));
    await written(job.partial, () => file.sync());
  } finally {
    await file.close();
  }
}

/** One connection: from `start` to where it ends. */
async function receive(
  connection: Connection,
  { subject, url, size, partial }: Transfer,
  file: FileHandle,
  start: number,
  advance: (received: number) => void,
): Promise<void> {
  const headers: Record<string, string> = start > 0 ? { range: `bytes=${start}-` } : {};
  await get(connection, subject, url, headers, async (response, pieces) => {
    const isRest = start > 0 && isFrom(response, start);
    let at = isRest ? start : 0;
    advance(at);
    // 200 is the whole file: not every server can go on in the middle. Anything else is of no use.
    if (start > 0 && !isRest && response.status !== 200) {
      throw new PassingError(`${subject.file}: the server did not send the bytes that were requested`);
    }
    for await (const piece of pieces) {
      for (let rest = piece.subarray(0, size - at); rest.length > 0; ) {
        const { bytesWritten } = await written(partial, () => file.write(rest, 0, rest.length, at));
        at += bytesWritten;
        advance(at);
        rest = rest.subarray(bytesWritten);
      }
      if (at === size) return;
    }
  });
}

const isFrom = ({ status, headers }: Response, start: number) =>
  status === 206 && (headers.get('content-range') ?? '').startsWith(`bytes ${start}-`);

async function written<T>(path: string, action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    throw fileError('write', path, error);
  }
}
