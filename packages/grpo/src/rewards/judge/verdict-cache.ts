/**
 * Replies of judges on the disk, to be asked for once. A folder of JSON Lines: each process adds to a file of its own,
 * so that none can tear another's row, and reads those of all before it.
 */
import { createHash, randomBytes } from 'node:crypto';
import { createReadStream, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { StringDecoder } from 'node:string_decoder';
import { fileError, onFile } from '../../errors/file-error.js';
import { FormatError } from '../../errors/format-error.js';
import { isObject } from '../../formats/json.js';
import { JsonLinesWriter } from '../../formats/jsonl-writer.js';
import { makeFolder } from '../../formats/make-folder.js';

/** Hash of everything that a verdict depends on. */
export function cacheKey(parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}

export class VerdictCache implements Disposable {
  readonly #replies = new Map<string, string>();
  #characters = 0;
  #writer: JsonLinesWriter | undefined;

  private constructor(
    private readonly folder: string,
    private readonly maxCharacters: number,
  ) {}

  /**
   * Opens the cache in a folder, which is made if need be.
   * @param maxCharacters - of keys and replies in memory; the oldest are forgotten, and asked for again
   * @throws FileError; FormatError for a whole line that is no row
   */
  static async open(folder: string, maxCharacters = 2 ** 27): Promise<VerdictCache> {
    makeFolder(folder);
    const cache = new VerdictCache(folder, maxCharacters);
    const names = onFile('read', folder, () => readdirSync(folder));
    for (const name of names.filter((name) => name.endsWith('.jsonl')).sort())
      await cache.#read(join(folder, name));
    return cache;
  }

  get(key: string): string | undefined {
    return this.#replies.get(key);
  }

  /** Keeps a reply. It outlives this process at once, and a power cut after {@link flush}. */
  add(key: string, reply: string): void {
    // Named by time, so that later files are read later; made only when there is something to keep.
    this.#writer ??= new JsonLinesWriter(
      join(this.folder, `${Date.now()}-${process.pid}-${randomBytes(4).toString('hex')}.jsonl`),
    );
    this.#writer.append({ key, reply });
    this.#remember(key, reply);
  }

  flush(): void {
    this.#writer?.flush();
  }

  [Symbol.dispose](): void {
    this.#writer?.close();
    this.#writer = undefined;
  }

  async #read(path: string): Promise<void> {
    let line = 0;
    for await (const text of wholeLines(path)) {
      line++;
      const row = rowOf(text);
      if (!row) {
        const hint = 'Delete the file: its verdicts are requested again.';
        throw new FormatError(path, "this is not a row of a judge's cache", { line, hint });
      }
      this.#remember(row.key, row.reply);
    }
  }

  #remember(key: string, reply: string): void {
    this.#forget(key);
    this.#replies.set(key, reply);
    this.#characters += key.length + reply.length;
    for (const oldest of this.#replies.keys()) {
      if (this.#characters <= this.maxCharacters) break;
      this.#forget(oldest);
    }
  }

  #forget(key: string): void {
    const reply = this.#replies.get(key);
    if (reply === undefined) return;
    this.#characters -= key.length + reply.length;
    this.#replies.delete(key);
  }
}

/** Lines that have their newline: a row is written with it, so a crash tore the bytes after the last one. */
async function* wholeLines(path: string): AsyncGenerator<string, void, undefined> {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  try {
    for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
      const lines = (rest + decoder.write(chunk)).split('\n');
      rest = lines.pop()!;
      yield* lines;
    }
  } catch (error) {
    throw fileError('read', path, error);
  }
}

function rowOf(text: string): { key: string; reply: string } | undefined {
  let row: unknown;
  try {
    row = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isObject(row) || typeof row.key !== 'string' || typeof row.reply !== 'string') return undefined;
  return { key: row.key, reply: row.reply };
}
