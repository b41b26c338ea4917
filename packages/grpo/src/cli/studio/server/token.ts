import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** The secret of a server's link, and the cookie that a browser carries it in. */
export class Token {
  readonly text = randomBytes(32).toString('base64url');
  readonly #cookie: string;

  /** @param port - cookies do not tell the ports of a machine apart */
  constructor(port: number) {
    this.#cookie = `grpo-studio-${port}`;
  }

  /** Whether a text is the token. The time that this takes does not depend on how much of it is right. */
  is(text: string): boolean {
    const [here, there] = [this.text, text].map((one) => createHash('sha256').update(one).digest());
    return timingSafeEqual(here!, there!);
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
