import type { ResolvedConfig } from '../../config/index.js';
import { permutation } from '../../maths/random.js';
import {
  type EvalResult,
  openSession,
  type RunEnd,
  type Session,
  type Stages,
  stages,
  trainGrpo,
  trainSft,
  type Watcher,
} from '../../train/index.js';
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
  watcher(steps: number): Watcher;
  signal: AbortSignal;
}

/** The run was interrupted: there is nothing to report. */
export class Interrupted extends Error {}

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
  return runArm(context, recipe, steps, (session) =>
    trainGrpo(session, { score: shuffledScore(recipe.config.seed) }),
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
    const order = permutation(table.dropped.length, seed, step++);
    return { ...table, columns: table.columns.map((column) => Float64Array.from(order, (i) => column[i]!)) };
  };
}

async function runArm(
  { watcher, signal }: ArmContext,
  resolved: ResolvedConfig,
  steps: number,
  train: (session: Session) => Promise<RunEnd>,
): Promise<Arm> {
  const start = performance.now();
  await using session = await openSession(resolved, {
    resume: false,
    watcher: watcher(steps),
    signal,
  });
  const { interrupted, after } = await train(session);
  if (interrupted || !after) throw new Interrupted();
  return {
    output: session.folder.path,
    model: `${session.folder.checkpoints}/step-${steps}`,
    evaluation: after,
    steps,
    tokens: session.progress.tokens,
    seconds: (performance.now() - start) / 1000,
  };
}
