import { UsageError } from '../errors/user-error.js';
import { Watch } from '../progress/watch.js';
import type { StepRecord } from '../trace/index.js';
import { readRun } from '../trace/readers/index.js';

/**
 * Reads the record of one step: of a run folder, of a folder of records, or of one record; of ours, of TRL's, of any
 * trainer's.
 *
 * @param at - the step; when not given, the last one with its updates, or else the last one
 * @throws UserError and its kind for a path that has no such record, or one that cannot be read
 *
 * @example
 * import { defineTask, readStep, train, viewOf, writeTinyModel } from 'grpo';
 *
 * const task = defineTask({
 *   name: 'brief',
 *   rows: ['a', 'b', 'c'],
 *   prompt: (row) => row,
 *   rewards: { brief: (completion) => 1 / (1 + completion.length) },
 * });
 * const model = await writeTinyModel('models/tiny');
 * const { output } = await train({
 *   model,
 *   task,
 *   settings: { train: { steps: 1 }, rollout: { maxNewTokens: 8 } },
 * });
 * const { completions, loss, verdicts } = viewOf(await readStep(output, 1));
 * console.log(loss?.loss, completions[0]?.advantage, verdicts.at(-1)?.findings);
 */
export async function readStep(path: string, at?: number, watch = new Watch()): Promise<StepRecord> {
  const reading = await readRun(path);
  const steps: number[] = [];
  let found: StepRecord | undefined;
  const report = () => watch.report({ stage: 'reading', done: steps.length, total: 0, unit: 'step records' });
  report();
  for (const record of reading.records ?? []) {
    steps.push(record.step);
    report();
    if (record.step === at) return record;
    if (at === undefined && (!found?.updates || record.updates)) found = record;
  }
  if (found) return found;
  if (steps.length === 0 && reading.runs)
    throw new UsageError(`${path} has no step record itself: it is a ${reading.kind}`, {
      hint: `Name one of them: ${reading.runs
        .slice(0, 5)
        .map(({ name }) => name)
        .join(', ')}`,
    });
  if (steps.length === 0)
    throw new UsageError(`${path} has no step record: it was read as ${reading.kind}`, {
      hint: 'grpo train writes records itself; for TRL see integrations/trl. A log alone is read by: grpo doctor PATH',
    });
  throw new UsageError(`${path} has no record of step ${at}; it has those of ${ranges(steps)}`);
}

/** Steps as text: `1–20, 40`. */
function ranges(steps: readonly number[]): string {
  const runs: [number, number][] = [];
  for (const step of [...steps].sort((a, b) => a - b)) {
    const last = runs.at(-1);
    if (last && step <= last[1] + 1) last[1] = step;
    else runs.push([step, step]);
  }
  return runs.map(([from, to]) => (from === to ? String(from) : `${from}–${to}`)).join(', ');
}
