import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { Refusal } from '../../../http/refusal.js';
import type { ChangeWatch } from './change-watch.js';
import { HEADERS } from './headers.js';

/** Between two looks at the disk. Where a look takes long, looks are rarer: a run may need the machine. */
const LOOK_MS = 1000;
const LOOK_SHARE = 0.1;
/** Between two comments, which keep a silent connection open. */
const COMMENT_MS = 15_000;
/** Bytes that a listener may be behind; a slower one is cut off, and told the rest when it comes back. */
const BEHIND = 1 << 20;
const MOST_LISTENERS = 64;

/** Tells pages by server-sent events what has changed on the disk. */
export class EventStream {
  readonly #listeners = new Set<ServerResponse>();
  /** Tells events of this server from those of an earlier one at the same port. */
  readonly #life = randomBytes(6).toString('base64url');
  #isWatching = false;

  constructor(private readonly changes: ChangeWatch) {}

  get hasListeners(): boolean {
    return this.#listeners.size > 0;
  }

  /** Answers a request with events for as long as it listens. */
  add({ method, headers, url = '' }: IncomingMessage, response: ServerResponse): void {
    if (this.#listeners.size >= MOST_LISTENERS) throw new Refusal(503, 'Too many pages listen.');
    response.writeHead(200, { ...HEADERS, 'content-type': 'text/event-stream' });
    if (method === 'HEAD') {
      response.end();
      return;
    }
    this.#listeners.add(response);
    response.on('close', () => this.#listeners.delete(response));
    response.write(`retry: 2000\nevent: hello\nid: ${this.#id}\ndata: {}\n\n`);
    // A browser says it when it connects again by itself; a page that comes back has only the address to say it.
    const after = new URLSearchParams(url.split('?')[1]).get('after');
    const missed = this.#missed(headers['last-event-id'] ?? after);
    if (missed.length > 0) response.write(this.#event(missed));
    if (!this.#isWatching) void this.#watch();
  }

  /** Looks at the disk now and tells what has changed. */
  async tell(): Promise<void> {
    const paths = await this.changes.look();
    if (paths.length > 0) this.#write(this.#event(paths));
  }

  /** Looks while there are listeners. */
  async #watch(): Promise<void> {
    this.#isWatching = true;
    let spoken = performance.now();
    let pause = LOOK_MS;
    while (this.hasListeners) {
      await sleep(pause, undefined, { ref: false });
      const start = performance.now();
      await this.tell();
      const now = performance.now();
      pause = Math.max(LOOK_MS, (now - start) / LOOK_SHARE);
      if (now - spoken < COMMENT_MS) continue;
      this.#write(': still here\n\n');
      spoken = now;
    }
    this.#isWatching = false;
  }

  get #id(): string {
    return `${this.#life}.${this.changes.turn}`;
  }

  /** Folders that changed since the last event that a listener has; all, if an earlier server sent it. */
  #missed(lastEvent: string | string[] | null): string[] {
    if (typeof lastEvent !== 'string' || lastEvent === '') return [];
    const [life, turn] = lastEvent.split('.');
    return life === this.#life ? this.changes.changedAfter(Number(turn)) : ['/'];
  }

  #event(paths: readonly string[]): string {
    return `event: change\nid: ${this.#id}\ndata: ${JSON.stringify({ paths })}\n\n`;
  }

  #write(text: string): void {
    for (const response of this.#listeners) {
      if (response.writableLength > BEHIND) response.destroy();
      else response.write(text);
    }
  }
}
