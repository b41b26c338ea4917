import type { ResolvedConfig } from '../config/index.js';
import { type Difference, differenceOf } from '../evaluation/difference.js';
import type { EvalResult } from '../evaluation/evaluate.js';
import type { Stages } from '../step/stages.js';
import { Supply } from '../tasks/order/supply.js';
import { readStepRecord, type StepRecord } from '../trace/index.js';
import type { Run } from './open-run.js';
import type { RunEnd } from './run-steps.js';
import { trainGrpo } from './train-grpo.js';

/** One step of a run, with what the model answers to the prompts of the step before and after it. */
export interface StepTaken extends RunEnd {
  /** Undefined when the run ended before its step was done. */
  record: StepRecord | undefined;
  /** After minus before, problem by problem; undefined where one of them was not measured. */
  change: { greedy: Difference | null; sampled?: Difference | null } | undefined;
}

/** The configuration of a run of one step that evaluates on the problems of the step. */
export function forOneStep(resolved: ResolvedConfig): ResolvedConfig {
  const { config, provenance } = resolved;
  const evaluation = { before: true, every: 0, limit: config.rollout.prompts };
  const own = ['train.steps', ...Object.keys(evaluation).map((key) => `eval.${key}`)];
  return {
    ...resolved,
    config: {
      ...config,
      train: { ...config.train, steps: 1 },
      eval: { ...config.eval, ...evaluation },
    },
    provenance: { ...provenance, ...Object.fromEntries(own.map((path) => [path, 'one step'])) },
  };
}

/**
 * Takes the first step of a run and reads its record.
 *
 * @param run - opened with the configuration of {@link forOneStep}
 * @throws what training throws
 */
export async function takeStep(run: Run, own: Partial<Stages> = {}): Promise<StepTaken> {
  const { config, task, folder } = run;
  const problems = new Supply(task.train, config.seed, {}, task.shares).take(config.rollout.prompts);
  const end = await trainGrpo({ ...run, task: { ...task, eval: problems }, evaluatesTrained: true }, own);
  const { before, after } = end;
  const between = (decoding: 'greedy' | 'sampled') =>
    differenceOf(after!.completions, before!.completions, decoding);
  return {
    ...end,
    record: run.progress.step > 0 ? readStepRecord(folder.stepFolder(1)) : undefined,
    change: before &&
      after && { greedy: between('greedy'), ...(after.sampled && { sampled: between('sampled') }) },
  };
}

/** Mean accuracy or reward of a way of decoding, as a difference is of it. */
export function scoreIn(
  { greedy, sampled }: EvalResult,
  decoding: 'greedy' | 'sampled',
  { of }: Pick<Difference, 'of'>,
): number | null {
  return (decoding === 'greedy' ? greedy : sampled!)[of];
}
