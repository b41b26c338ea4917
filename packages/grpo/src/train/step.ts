import { UserError } from '../errors/user-error.js';
import { Watch } from '../progress/watch.js';
import type { Problem } from '../tasks/task.js';
import type { Probes, UpdateRecord } from '../trace/index.js';
import { accumulateGradients } from './accumulate.js';
import type { Rollout } from './batch.js';
import { type FrozenLogprobs, frozenLogprobs } from './frozen-logprobs.js';
import { kindsOf } from './kinds.js';
import { klPenalties } from './kl-penalty.js';
import { referenceChecksum, scoringProbes } from './probes.js';
import { rollOut, withAdvantages } from './roll-out.js';
import { Stopwatch } from './stopwatch.js';
import { MetricTally } from './tally.js';
import type { Trainer } from './trainer.js';
import { normsOf, type ScoredIds, type UpdateTrace } from './update-trace.js';
import { WeightSample } from './weight-sample.js';

/** One step, for records and metrics. */
export interface StepResult {
  rollout: Rollout;
  frozen: FrozenLogprobs;
  /** The ids that were scored, by completion. */
  scored: ReadonlyMap<number, ScoredIds>;
  /** What each update was made of. */
  updates: UpdateRecord[];
  /** What was measured besides, where it was asked for. */
  probes: Probes | undefined;
  learningRate: number;
  /** Means over the step's updates. */
  loss: number;
  gradNorm: number;
  /** What the loss tells of itself, over the step. */
  metrics: Record<string, number>;
  /** Seconds of each stage. */
  seconds: Record<string, number>;
}

/** A gradient is no number: the weights are those before its update. */
export class NotFiniteError extends UserError {
  constructor(
    /** The step as far as it came. */
    readonly result: StepResult,
    step: number,
  ) {
    const { gradNorm } = result.updates.at(-1)!;
    const made = result.updates.length - 1;
    const since = made === 0 ? 'before the step' : `after its first ${made} updates`;
    super(`the gradient of step ${step + 1} is ${gradNorm}; the weights are as ${since}`, {
      hint: 'A smaller optimizer.learningRate or kl.beta usually helps; look at the last rows of metrics.jsonl',
    });
  }
}

/**
 * One GRPO step: sample completions of every problem, compare their rewards within each group, and update the policy
 * by the log-probs of what was sampled.
 *
 * @param step - counted from 0; with the seed it fixes every random draw
 * @throws NotFiniteError when a gradient is not finite; the weights are then those before that update. Abandoned, before
 * the first update only: the trainer is then as before the step, but for `supply`
 */
export async function grpoStep(
  trainer: Trainer,
  problems: readonly Problem[],
  step: number,
  learningRate: number,
): Promise<StepResult> {
  const { control, movingReference, model } = trainer;
  const { objective, optimizer, kl, train } = trainer.config;
  const every = train.kindGradients;
  const clock = new Stopwatch();
  let watch = trainer.watch ?? new Watch();
  const sampled = await rollOut(trainer, problems, step, clock);
  const frozen = await frozenLogprobs(trainer, sampled, clock, watch);
  const kinds_P = kindsOf(sampled.problems, kl.kindKey);
  const betas_P = kinds_P.map((kind) => control.beta(step, kind));
  const rollout = withAdvantages(trainer, sampled, klPenalties(trainer, sampled, frozen, betas_P));

  const tally = new MetricTally();
  const scored = new Map<number, ScoredIds>();
  const updates: UpdateRecord[] = [];
  const ofKinds: Record<string, number> = {};
  let probes: Probes | undefined;
  const result = (): StepResult => ({
    rollout,
    frozen,
    scored,
    updates,
    probes,
    learningRate,
    loss: mean(updates.map((update) => update.loss!)),
    gradNorm: mean(updates.map((update) => update.gradNorm!)),
    metrics: { ...tally.values, ...control.metrics(step, kinds_P), ...ofKinds },
    seconds: clock.seconds,
  });
  for (let iteration = 0; iteration < objective.iterations; iteration++) {
    for (const prompts of minibatches(rollout, objective.minibatches)) {
      const compareSampler = updates.length === 0;
      const compareKinds = compareSampler && every > 0 && step % every === 0;
      const batch = { rollout, frozen, prompts, betas_P, kinds_P, compareSampler, compareKinds, scored };
      const { loss, trace, tally: own, kinds } = await accumulateGradients(trainer, batch, clock, watch);
      tally.merge(own);
      if (kinds)
        Object.assign(
          ofKinds,
          clock.time('kinds', () => kinds.metrics()),
        );
      kinds?.dispose();
      if (trainer.probeScoring && updates.length === 0)
        probes = clock.time('probe', () => unlessAbandoned(trainer, () => probesOf(trainer, rollout, trace)));
      // An update cannot be taken back.
      if (updates.length === 0)
        watch = watch.finishing(`Step ${step + 1} has changed the weights already: it is finished first.`);
      using weights = trainer.measureWeights ? new WeightSample(trainer.optimizer) : undefined;
      const { gradNorm, gradNorms } = clock.time('update', () =>
        trainer.stages.update(trainer.optimizer, learningRate, optimizer.maxGradNorm),
      );
      updates.push(
        trace.record({
          loss,
          learningRate,
          gradNorm,
          ...control.factsOf(step),
          ...(gradNorms && normsOf(gradNorms)),
          ...weights?.changes(),
        }),
      );
      if (!Number.isFinite(gradNorm)) throw new NotFiniteError(result(), step);
      control.afterUpdate(own.values);
      movingReference?.afterUpdate(control.updates, model.decoder.trainable, trainer.optimizer);
    }
  }
  const done = result();
  trainer.replay?.take(rollout, objective.oldLogprobs === 'recompute' ? frozen.old_B : undefined, step);
  control.afterStep(step, kinds_P, done.metrics);
  return done;
}

/** What is abandoned before the update leaves no gradients to the next one. */
function unlessAbandoned<T>({ optimizer }: Trainer, work: () => T): T {
  try {
    return work();
  } catch (error) {
    optimizer.zeroGrad();
    throw error;
  }
}

function probesOf(trainer: Trainer, rollout: Rollout, trace: UpdateTrace): Probes {
  const { reference } = trainer;
  return {
    ...scoringProbes(trainer, rollout, (b) => trace.policyOf(b), trace.members),
    ...(reference && { referenceChecksum: referenceChecksum(reference) }),
  };
}

/** The prompts that are learnt from, in `n` runs of equal length: groups that were dropped leave theirs shorter. */
function minibatches({ prompts, advantages }: Rollout, n: number): number[][] {
  const size = prompts.length / n;
  const dropped = new Set(advantages.dropped);
  return Array.from({ length: n }, (_, i) => Array.from({ length: size }, (_, j) => i * size + j))
    .map((run) => run.filter((p) => !dropped.has(p)))
    .filter((run) => run.length > 0);
}

const mean = (values: readonly number[]) => values.reduce((a, b) => a + b, 0) / values.length;
