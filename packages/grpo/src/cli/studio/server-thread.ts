/** The thread that serves the page of a run; `beside-run.ts` is the other side. */
import { parentPort, workerData } from 'node:worker_threads';
import { LOOPBACK } from '../../http/address.js';
import { startServer } from './server/start-server.js';
import type { ThreadMessage, ThreadStart } from './thread-protocol.js';

const port = parentPort!;
const tell = (message: ThreadMessage) => port.postMessage(message);

const server = await startServer({
  ...(workerData as ThreadStart),
  host: LOOPBACK,
  report: (text) => tell({ kind: 'note', text }),
});
port.once('message', async () => {
  await server.settle();
  server.close();
  port.close();
});
tell({ kind: 'ready', url: server.url });
