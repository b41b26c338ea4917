import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A server on this machine that lives as long as the `await using` that holds it. */
export interface TestServer extends AsyncDisposable {
  url: string;
  /** Requests that came: path, and range if there was one. */
  asked: string[];
}

/** Starts a server that answers as `answer` says. */
export async function serve(answer: RequestListener): Promise<TestServer> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push([request.url, request.headers.range].filter(Boolean).join(' '));
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    asked,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Answers with a file as good servers do, from where the request's range begins. */
export function sendFile(request: IncomingMessage, response: ServerResponse, file: Uint8Array): void {
  const from = Number(request.headers.range?.match(/^bytes=(\d+)-$/)?.[1] ?? 0);
  if (from >= file.length) {
    response.writeHead(416, { 'content-range': `bytes */${file.length}` }).end();
    return;
  }
  const rest = file.subarray(from);
  const range = from > 0 && { 'content-range': `bytes ${from}-${file.length - 1}/${file.length}` };
  response.writeHead(from > 0 ? 206 : 200, { 'content-length': rest.length, ...range });
  response.end(rest);
}

/** Sends bytes and breaks the connection once they have arrived; what is on the way would be lost with it. */
export function sendAndDrop(response: ServerResponse, bytes: Uint8Array, arrived: () => boolean): void {
  response.write(bytes);
  const timer = setInterval(() => {
    if (!arrived()) return;
    clearInterval(timer);
    response.destroy();
  }, 2);
}
