import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { sameSecret } from '../../../http/same-secret.js';

/** The secret of a server's link, and the cookie that a browser carries it in. */
export class Token {
  readonly text = randomBytes(32).toString('base64url');
  readonly #cookie: string;

  /** @param port - cookies do not tell the ports of a machine apart */
  constructor(port: number) {
    this.#cookie = `grpo-studio-${port}`;
  }

  is(text: string): boolean {
    return sameSecret(this.text, text);
  }

  get setCookie(): string {
    return `${this.#cookie}=${this.text}; Path=/; HttpOnly; SameSite=Strict`;
  }

  isCarriedBy({ headers }: IncomingMessage): boolean {
    const prefix = `${this.#cookie}=`;
    return (headers.cookie ?? '')
      .split('; ')
      .some((pair) => pair.startsWith(prefix) && this.is(pair.slice(prefix.length)));
  }
}
