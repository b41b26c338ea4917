import { fstatSync, readSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { byteRange } from './byte-range.js';
import { HEADERS } from './headers.js';

const CHUNK = 256 * 1024;

/**
 * Answers with a file as it is when the answer begins: of one that grows, the bytes that were there; of one that is cut
 * short, the answer breaks off.
 */
export async function sendFile(
  { method, headers }: IncomingMessage,
  response: ServerResponse,
  fd: number,
): Promise<void> {
  const { size } = fstatSync(fd);
  // Without validators an If-Range never holds, and the whole file is the answer.
  const isPart = method === 'GET' && headers['if-range'] === undefined;
  const range = isPart ? byteRange(headers.range, size) : undefined;
  const { start, end } = range ?? { start: 0, end: size };
  response.writeHead(range ? 206 : 200, {
    ...HEADERS,
    'content-type': 'application/octet-stream',
    'content-length': end - start,
    'accept-ranges': 'bytes',
    ...(range && { 'content-range': `bytes ${start}-${end - 1}/${size}` }),
  });
  if (method === 'HEAD') response.end();
  else await pipeline(bytesOf(fd, start, end), response);
}

/** The file is shorter than it was. */
class CutShort extends Error {}

function* bytesOf(fd: number, start: number, end: number): Generator<Buffer> {
  for (let position = start; position < end; ) {
    const buffer = Buffer.allocUnsafe(Math.min(CHUNK, end - position));
    const bytesRead = readSync(fd, buffer, 0, buffer.length, position);
    if (bytesRead === 0) throw new CutShort(`${end - position} bytes are missing`);
    yield buffer.subarray(0, bytesRead);
    position += bytesRead;
  }
}

/** Whether sending ended early for a reason that is none of the server's: nobody listens any more, or the file was cut. */
export const isBrokenOff = (error: unknown): boolean =>
  error instanceof CutShort ||
  ['ERR_STREAM_PREMATURE_CLOSE', 'ECONNRESET', 'EPIPE'].includes((error as NodeJS.ErrnoException).code ?? '');
