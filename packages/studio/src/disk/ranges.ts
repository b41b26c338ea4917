/** One request brings at least so much: a log is read in small pieces. */
const BLOCK = 2 ** 20;
/** Blocks that are kept. */
const MOST_BLOCKS = 256;

/** Files of a server by ranges of bytes, block by block. Requests are synchronous, which a worker may do. */
export class Ranges {
  readonly #blocks = new Map<string, Uint8Array>();

  /** @param urlOf - the address of a path */
  constructor(private readonly urlOf: (path: string) => string) {}

  read(path: string, start: number, end: number): Uint8Array {
    // A long read is one request and is not kept: its reader keeps what it needs.
    if (end - start > 8 * BLOCK) {
      const { bytes, from } = this.#request(path, start, end);
      return bytes.subarray(start - from, end - from);
    }
    const parts: Uint8Array[] = [];
    for (let at = start - (start % BLOCK); at < end; at += BLOCK) {
      const block = this.#block(path, at);
      parts.push(block.subarray(Math.max(0, start - at), Math.max(0, end - at)));
      if (block.length < BLOCK) break;
    }
    return Buffer.concat(parts);
  }

  /** Forgets the ends of files below some folders; of all files everything. */
  forget(folders?: readonly string[]): void {
    if (!folders) this.#blocks.clear();
    // Files only grow, or are written anew under another name: whole blocks stay, the last one does not.
    for (const [key, block] of this.#blocks)
      if (
        block.length < BLOCK &&
        folders?.some((folder) => key.slice(key.indexOf(' ') + 1).startsWith(`${folder}/`))
      )
        this.#blocks.delete(key);
  }

  #block(path: string, at: number): Uint8Array {
    const key = `${at} ${path}`;
    const kept = this.#blocks.get(key);
    if (kept) return kept;
    const { bytes, from } = this.#request(path, at, at + BLOCK);
    // A server that knows no ranges sends all: the rest is not asked for again.
    for (let start = from; start < from + Math.max(bytes.length, 1); start += BLOCK) {
      this.#blocks.set(`${start} ${path}`, bytes.subarray(start - from, start - from + BLOCK));
      if (from > 0 && this.#blocks.size > MOST_BLOCKS) this.#blocks.delete(this.#blocks.keys().next().value!);
    }
    return this.#blocks.get(key) ?? new Uint8Array(0);
  }

  #request(path: string, start: number, end: number): { bytes: Uint8Array; from: number } {
    const headers = { Range: `bytes=${start}-${end - 1}` };
    const { status, response } = ask(this.urlOf(path), 'arraybuffer', headers);
    if (status === 416) return { bytes: new Uint8Array(0), from: start };
    return { bytes: new Uint8Array(response as ArrayBuffer), from: status === 206 ? start : 0 };
  }
}

/** The server is gone: what was read before is all there is. */
export class ServerLost extends Error {}

/**
 * @throws the error of a file system for a file that cannot be read
 * @throws ServerLost
 */
export function ask(
  url: string,
  type: 'text' | 'arraybuffer',
  headers: Record<string, string> = {},
): XMLHttpRequest {
  const request = new XMLHttpRequest();
  // A worker from a blob has no address of its own.
  request.open('GET', new URL(url, globalThis.location.origin).href, false);
  if (type === 'arraybuffer') request.responseType = type;
  for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
  try {
    request.send();
  } catch (cause) {
    throw new ServerLost('the server does not answer: has it ended?', { cause });
  }
  const { status } = request;
  if ((status < 200 || status > 299) && status !== 416 && status !== 404)
    throw new Error(`the server refuses ${url}: status ${status}`);
  if (status === 404 && type === 'arraybuffer')
    throw Object.assign(new Error(`ENOENT: ${url}`), { code: 'ENOENT', syscall: 'open' });
  return request;
}
