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

/** The same words for what is not there and for what lies outside: nobody learns which files there are elsewhere. */
export const notFound = () => new Refusal(404, 'There is no such file in the given paths.');
