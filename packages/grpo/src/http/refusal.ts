import type { OutgoingHttpHeaders } from 'node:http';

/** A request that is not answered with what it asks for; the message is the answer's text. */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly headers: OutgoingHttpHeaders = {},
  ) {
    super(message);
  }
}
