/** A judge's server on this machine that does as a test says. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

export interface Asked {
  /** The message to the judge. */
  message: string;
  body: Record<string, unknown>;
  headers: IncomingMessage['headers'];
  path: string | undefined;
  /** When it came: milliseconds of `performance.now()`. */
  at: number;
}

/** Answers the n-th request, counted from 0. */
export type Behaviour = (response: ServerResponse, asked: Asked, n: number) => void;

/** Starts a server that is gone when the test ends. */
export async function judgeServer(behaviour: Behaviour): Promise<{ baseURL: string; asked: Asked[] }> {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (part: string) => {
      text += part;
    });
    request.on('end', () => {
      const body = JSON.parse(text) as { messages: { content: string }[] } & Record<string, unknown>;
      const { headers, url: path } = request;
      const one = { message: body.messages[0]!.content, body, headers, path, at: performance.now() };
      asked.push(one);
      behaviour(response, one, asked.length - 1);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { baseURL: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, asked };
}

/** A whole chat completion with this text. */
export function say(response: ServerResponse, content: string, finish = 'stop'): void {
  response.setHeader('content-type', 'application/json');
  response.end(
    JSON.stringify({ choices: [{ message: { role: 'assistant', content }, finish_reason: finish }] }),
  );
}

/** The same with a score. */
export const score = (response: ServerResponse, value: unknown): void =>
  say(response, JSON.stringify({ score: value, reason: 'as it is' }));

/** A number in [0, 1] that follows from a text. */
export function scoreOf(text: string): number {
  let sum = 0;
  for (const char of text) sum = (sum * 31 + char.codePointAt(0)!) % 1000;
  return sum / 1000;
}
