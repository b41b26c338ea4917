import { resolve } from 'node:path';
import { Abandoned } from '../../progress/watch.js';
import { together } from '../../step/peers/together.js';
import { storeLines } from '../folder/replay-file.js';
import type { GrpoTrainer } from '../grpo-trainer.js';
import type { Run } from '../open-run.js';
import { reasonOf } from './run-peers.js';
import { shareState } from './shared-state.js';
import { type Opening, takeTurn } from './turns.js';

/**
 * Does the work of rank 0 while the other processes of the run follow: they begin with its state, and end with it. An error
 * of any of them is the error of all. Without peers it does the work alone.
 */
export async function lead<T>(
  run: Run,
  open: () => Promise<GrpoTrainer>,
  work: (trainer: GrpoTrainer) => Promise<T>,
): Promise<T> {
  const { peers } = run;
  try {
    using trainer = await open();
    if (!peers) return await work(trainer);
    const replay = storeLines(trainer.replay?.groups ?? [], run.task.train);
    const config = { ...run.config, output: resolve(run.config.output) };
    const opening: Opening = { config, files: run.files, progress: run.progress, replay };
    await together(peers, () => opening);
    // They open the run.
    await together(peers, () => {});
    await shareState(peers, trainer);
    const result = await work(trainer);
    await takeTurn(peers, { next: 'end', isInterrupted: run.signal?.aborted === true });
    return result;
  } catch (error) {
    peers?.fail(reasonOf(error));
    throw error;
  }
}

/**
 * Calls the other processes to a step.
 *
 * @throws Abandoned where one of them was interrupted
 */
export async function callToStep({ peers, signal, watcher }: Run): Promise<void> {
  if (!peers) return;
  const { notes, isInterrupted } = await takeTurn(peers, {
    next: 'step',
    isInterrupted: signal?.aborted === true,
  });
  for (const [rank, own] of notes.entries()) for (const text of own) watcher.note?.(`rank ${rank}: ${text}`);
  if (isInterrupted) throw new Abandoned();
}
