import type { Disk, DiskEntry } from './disk.js';

/** One request brings at least so much: a log is read in small pieces. */
const BLOCK = 2 ** 20;
/** Blocks that are kept. */
const MOST_BLOCKS = 256;

/** Files of a server, block by block. Requests are synchronous, which a worker may do. */
export class HttpDisk implements Disk {
  readonly #folders = new Map<string, readonly DiskEntry[] | undefined>();
  readonly #blocks = new Map<string, Uint8Array>();

  list(folder: string): readonly DiskEntry[] | undefined {
    if (!this.#folders.has(folder)) this.#folders.set(folder, listingOf(folder));
    return this.#folders.get(folder);
  }

  read(path: string, start: number, end: number): Uint8Array {
    // A long read is one request, and is not kept: who reads so much keeps what it needs.
    if (end - start > 8 * BLOCK) return bytesOf(path, start, end);
    const parts: Uint8Array[] = [];
    for (let at = start - (start % BLOCK); at < end; at += BLOCK) {
      const block = this.#block(path, at);
      parts.push(block.subarray(Math.max(0, start - at), Math.max(0, end - at)));
      if (block.length < BLOCK) break;
    }
    return Buffer.concat(parts);
  }

  forget(paths?: readonly string[]): void {
    // A new server at the same address may have other files.
    if (!paths || paths.includes('/')) {
      this.#folders.clear();
      this.#blocks.clear();
      return;
    }
    for (const path of paths) {
      this.#folders.delete(path);
      // Files only grow, or are written anew under another name: whole blocks stay, the last one does not.
      for (const key of this.#blocks.keys())
        if (key.slice(key.indexOf(' ') + 1).startsWith(`${path}/`) && this.#blocks.get(key)!.length < BLOCK)
          this.#blocks.delete(key);
    }
  }

  #block(path: string, at: number): Uint8Array {
    const key = `${at} ${path}`;
    const kept = this.#blocks.get(key);
    if (kept) return kept;
    const block = bytesOf(path, at, at + BLOCK);
    this.#blocks.set(key, block);
    if (this.#blocks.size > MOST_BLOCKS) this.#blocks.delete(this.#blocks.keys().next().value!);
    return block;
  }
}

function listingOf(folder: string): readonly DiskEntry[] | undefined {
  const request = ask(`/api/list?path=${encodeURIComponent(folder)}`, 'text');
  if (request.status === 404) return undefined;
  return JSON.parse(request.responseText) as DiskEntry[];
}

function bytesOf(path: string, start: number, end: number): Uint8Array {
  const url = `/api/file?path=${encodeURIComponent(path)}`;
  const request = ask(url, 'arraybuffer', { Range: `bytes=${start}-${end - 1}` });
  return request.status === 416 ? new Uint8Array(0) : new Uint8Array(request.response as ArrayBuffer);
}

/** @throws what the file system of the page throws for a file that cannot be read */
function ask(
  url: string,
  type: 'text' | 'arraybuffer',
  headers: Record<string, string> = {},
): XMLHttpRequest {
  const request = new XMLHttpRequest();
  // A worker from a blob has no address of its own.
  request.open('GET', new URL(url, origin()).href, false);
  if (type === 'arraybuffer') request.responseType = type;
  for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
  try {
    request.send();
  } catch (cause) {
    throw new Error('the server does not answer: has `grpo studio` ended?', { cause });
  }
  const { status } = request;
  if ((status < 200 || status > 299) && status !== 416 && status !== 404)
    throw new Error(`the server refuses ${url}: status ${status}`);
  if (status === 404 && type === 'arraybuffer')
    throw Object.assign(new Error(`ENOENT: ${url}`), { code: 'ENOENT', syscall: 'open' });
  return request;
}

const origin = (): string => globalThis.location.origin;
