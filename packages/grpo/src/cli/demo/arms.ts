import type { ResolvedConfig } from '../../config/index.js';
import type { Finding } from '../../doctor/finding.js';
import type { EvalResult } from '../../evaluation/evaluate.js';
import { permutation } from '../../maths/random.js';
import { openRun, type Run, type Watcher } from '../../run/open-run.js';
import type { RunEnd } from '../../run/run-steps.js';
import { trainGrpo } from '../../run/train-grpo.js';
import { trainSft } from '../../run/train-sft.js';
import { type Stages, stages } from '../../step/stages.js';
import { type DemoOptions, grpoRecipe, moreSftRecipe, sftRecipe } from './recipe.js';

/** One training run of the demo. */
export interface Arm {
  /** Its run folder. */
  output: string;
  /** The model it left. */
  model: string;
  evaluation: EvalResult;
  steps: number;
  tokens: number;
  seconds: number;
}

export interface ArmContext {
  options: DemoOptions;
  /** @param groups - in each step of GRPO */
  watcher(steps: number, groups: number): Watcher;
  signal: AbortSignal;
}

/** The run was interrupted, or the doctor stopped it: there is no result. */
export class EndedEarlyError extends Error {
  constructor(
    readonly output: string,
    readonly stopped: Finding | undefined,
  ) {
    super('the run ended early');
  }
}

export function warmUp(context: ArmContext): Promise<Arm> {
  const recipe = sftRecipe(context.options);
  return runArm(context, recipe, recipe.config.sft.steps, trainSft);
}

export function grpo(context: ArmContext, model: string): Promise<Arm> {
  const recipe = grpoRecipe(context.options, model);
  return runArm(context, recipe, recipe.config.train.steps, trainGrpo);
}

/** The same as GRPO, with the rewards of each step dealt out anew among its completions: nothing can be learnt. */
export function shuffledRewards(context: ArmContext, model: string): Promise<Arm> {
  const recipe = grpoRecipe(context.options, model, 'shuffled-rewards');
  const { steps } = recipe.config.train;
  return runArm(context, recipe, steps, (run) =>
    trainGrpo(run, { score: shuffledScore(recipe.config.seed) }),
  );
}

/** SFT with the compute that GRPO had: a sampled and trained token costs 4 forward passes, an imitated one 3. */
export function moreSft(context: ArmContext, model: string, grpoTokens: number, sft: Arm): Promise<Arm> {
  const steps = Math.round((grpoTokens * 4) / 3 / (sft.tokens / sft.steps));
  return runArm(context, moreSftRecipe(context.options, model, steps), steps, trainSft);
}

/** The standard score stage, its rows in an order that has nothing to do with the completions. */
function shuffledScore(seed: number): Stages['score'] {
  let step = 0;
  return async (...args) => {
    const table = await stages.score(...args);
    const order = permutation(table.unscored.length, seed, step++);
    return { ...table, columns: table.columns.map((column) => Float64Array.from(order, (i) => column[i]!)) };
  };
}

/** @throws EndedEarlyError when the run did not come to its end */
export async function runArm(
  { watcher, signal }: ArmContext,
  resolved: ResolvedConfig,
  steps: number,
  train: (run: Run) => Promise<RunEnd>,
): Promise<Arm> {
  const start = performance.now();
  await using run = await openRun(resolved, {
    resume: false,
    watcher: watcher(steps, resolved.config.rollout.prompts),
    signal,
  });
  const { interrupted, stopped, after } = await train(run);
  if (interrupted || !after) throw new EndedEarlyError(run.folder.path, stopped);
  return {
    output: run.folder.path,
    model: `${run.folder.checkpoints}/step-${steps}`,
    evaluation: after,
    steps,
    tokens: run.progress.tokens,
    seconds: (performance.now() - start) / 1000,
  };
}
