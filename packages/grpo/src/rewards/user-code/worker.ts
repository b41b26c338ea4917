/** The thread in which a user's reward with a time-out runs; `reward-worker.ts` is the other side. */
import { parentPort, workerData } from 'node:worker_threads';
import { UserError } from '../../errors/user-error.js';
import { describeError } from '../describe-error.js';
import { isPartialFailure, isPerCompletion } from '../each.js';
import type { RewardFunction } from '../reward.js';
import { threadNumber } from './core-wait.js';
import { loadRewardFunction } from './load-function.js';
import type { WorkerReply, WorkerRequest, WorkerStart } from './worker-protocol.js';

const port = parentPort!;
const { path } = workerData as WorkerStart;

function reply(message: WorkerReply): void {
  port.postMessage(message);
}

async function answer(score: RewardFunction, batch: WorkerRequest): Promise<void> {
  try {
    reply({ kind: 'values', values: await score(batch) });
  } catch (error) {
    // Also an error of posting: values that are functions or promises cannot leave the thread.
    if (isPartialFailure(error)) reply({ kind: 'partial', values: error.values, failures: error.failures });
    else reply({ kind: 'failed', reason: describeError(error) });
  }
}

try {
  const score = await loadRewardFunction(path);
  port.on('message', (batch: WorkerRequest) => void answer(score, batch));
  reply({ kind: 'ready', perCompletion: isPerCompletion(score), thread: threadNumber() });
} catch (error) {
  if (!(error instanceof UserError)) throw error;
  reply({ kind: 'refused', message: error.message, hint: error.hint });
}
