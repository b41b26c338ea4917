import type { ServerResponse } from 'node:http';
import { apiErrorOf, errorBody } from './api-error.js';

/** Server-sent events of one answer. Nothing is sent before the first: until then the answer can still be an error. */
export class EventWriter {
  constructor(private readonly response: ServerResponse) {}

  send(event: object): void {
    this.#write(JSON.stringify(event));
  }

  /** @throws the error, where nothing has been sent */
  fail(error: unknown): void {
    if (!this.response.headersSent) throw error;
    this.send(errorBody(apiErrorOf(error)));
  }

  end(): void {
    this.#write('[DONE]');
    this.response.end();
  }

  #write(data: string): void {
    const { response } = this;
    if (!response.headersSent)
      response.writeHead(200, {
        'content-type': 'text/event-stream; charset=utf-8',
        'cache-control': 'no-cache',
        'x-content-type-options': 'nosniff',
      });
    response.write(`data: ${data}\n\n`);
  }
}
