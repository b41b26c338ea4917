/** The thread of the sinks; `sink-thread.ts` is the other side. */
import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { sinkName } from '../config/sections/sinks.js';
import { UserError } from '../errors/user-error.js';
import { Cursor } from './cursor.js';
import { Delivery } from './delivery.js';
import { openSink } from './open-sink.js';
import { RunFollower } from './run-follower.js';
import type { WorkerReply, WorkerRequest, WorkerStart } from './worker-protocol.js';

/** Seconds between two reports of what is left. */
const REPORT = 0.2;

const port = parentPort!;
const { folder, sinks, done } = workerData as WorkerStart;
const reply = (message: WorkerReply) => port.postMessage(message);

async function wait(seconds: number, woken: Promise<void>): Promise<void> {
  const controller = new AbortController();
  const slept = sleep(1000 * seconds, undefined, { signal: controller.signal }).catch(() => undefined);
  await Promise.race([slept, woken]);
  controller.abort();
}

function open() {
  const note = (text: string) => reply({ kind: 'note', text });
  return sinks.map((setting) => {
    const name = sinkName(setting);
    const cursor = new Cursor(folder, name);
    const sink = openSink(setting, { folder, cursor, done });
    const follower = new RunFollower(folder, cursor.delivered, sink.usesCompletions === true);
    return { name, place: sink.place, delivery: new Delivery(name, sink, follower, cursor, note, wait) };
  });
}

/** A sink that breaks says so, and the others go on. */
async function serve(opened: ReturnType<typeof open>): Promise<void> {
  const deliveries = opened.map(({ delivery }) => delivery);
  const left = (isLast: boolean) =>
    reply({ kind: 'left', left: deliveries.map((delivery) => delivery.left), isLast });
  let reports: NodeJS.Timeout | undefined;
  port.on('message', (request: WorkerRequest) => {
    if (request.kind === 'stop') for (const delivery of deliveries) delivery.stop();
    else {
      for (const delivery of deliveries) delivery.end(request.outcome);
      reports = setInterval(() => left(false), 1000 * REPORT);
    }
  });
  await Promise.all(deliveries.map((delivery) => delivery.run()));
  clearInterval(reports);
  left(true);
  port.close();
}

try {
  const opened = open();
  reply({ kind: 'ready', places: opened.map(({ name, place }) => ({ name, place })) });
  await serve(opened);
} catch (error) {
  if (!(error instanceof UserError)) throw error;
  reply({ kind: 'refused', message: error.message, hint: error.hint });
}
