import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { ServeEngine } from '../engine.js';

/** What requests are answered from. */
export interface Service {
  engine: ServeEngine;
  /** Name of the model. */
  name: string;
  /** Folder of the model. */
  folder: string;
  /** Of its tokenizer: two that read texts alike have the same. */
  tokenizerFingerprint: string;
  /** Bytes of its longest token. */
  longestToken: number;
  /** Real paths of folders that clients may load adapters and weights from. */
  weightFolders: readonly string[];
  /** Completions that may wait at once. */
  mostWaiting: number;
  /** Unix time of the start, in seconds. */
  started: number;
  /** Tells the people at the server. */
  log(text: string): void;
}

/** One request. */
export interface Call {
  request: IncomingMessage;
  response: ServerResponse;
  query: URLSearchParams;
  /** Aborted when the client hangs up. */
  signal: AbortSignal;
}

/** Answers a request with an object, with text, or by itself: then with nothing. */
export type Handler = (service: Service, call: Call) => Promise<Answer> | Answer;

export type Answer = object | string | undefined;

/** Sends a whole answer. */
export function send(
  response: ServerResponse,
  status: number,
  answer: object | string,
  headers: OutgoingHttpHeaders = {},
): void {
  const isText = typeof answer === 'string';
  const body = isText ? answer : JSON.stringify(answer);
  response.writeHead(status, {
    'content-type': isText ? 'text/plain; charset=utf-8' : 'application/json',
    'content-length': Buffer.byteLength(body),
    'x-content-type-options': 'nosniff',
    ...headers,
  });
  response.end(body);
}
