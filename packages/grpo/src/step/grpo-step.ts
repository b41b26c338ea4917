import { UserError } from '../errors/user-error.js';
import { mean } from '../maths/moments.js';
import { Watch } from '../progress/watch.js';
import type { Problem } from '../tasks/task.js';
import { accumulateGradients } from './accumulate-gradients.js';
import type { Batch } from './batch.js';
import { compareRewards } from './compare-rewards.js';
import { scoreFrozen } from './frozen-logprobs.js';
import { joinObservers, type UpdateResult } from './observer.js';
import { SharedWork } from './peers/shared-work.js';
import { rollOut } from './roll-out.js';
import type { Trainer } from './trainer.js';
import { updatesOf } from './updates.js';

/** One step. */
export interface StepResult {
  /** The completions that it learnt from. */
  batch: Batch;
  /** Means over the updates. */
  loss: number;
  gradNorm: number;
}

/** An update has failed. Observers have the step as far as it came. */
export class UpdateError extends UserError {}

/** A gradient is not finite. The weights are those before its update. */
export class NotFiniteError extends UpdateError {
  /** @param made - updates that the step had made before */
  constructor(gradNorm: number, step: number, made: number) {
    const weights = made === 0 ? 'were not changed' : `are those after its first ${made} updates`;
    super(`step ${step + 1}: the gradient is ${gradNorm}. The weights ${weights}`, {
      hint: 'A smaller optimizer.learningRate or kl.beta usually helps; look at the last rows of metrics.jsonl',
    });
  }
}

/** An update has left processes with different weights. */
export class RanksDifferError extends UpdateError {
  constructor(checksums: readonly number[], step: number, update: number) {
    const others = [...checksums.keys()].filter((rank) => checksums[rank] !== checksums[0]);
    const ranks = others.length > 1 ? `ranks ${others.join(', ')} have` : `rank ${others[0]} has`;
    super(`step ${step + 1}: after update ${update + 1} ${ranks} other weights than rank 0`, {
      hint: 'Their gradients were not summed, or they began with other weights. Resume the run from its last checkpoint.',
    });
  }
}

/**
 * One GRPO step: sample completions of every problem, compare their rewards within each group, and update the policy
 * by the log-probs of the sampled tokens.
 *
 * @param step - counted from 0; with the seed it fixes every random draw
 * @throws UserError for no problems, or a rate that is none. NotFiniteError when a gradient is not finite; the weights are then those before that update. RanksDifferError
 * when peers have other weights. Abandoned, before the first update only: the trainer is then as before the step, but for
 * `supply`
 */
export async function grpoStep(
  trainer: Trainer,
  problems: readonly Problem[],
  step: number,
  learningRate: number,
): Promise<StepResult> {
  const { stages, model, optimizer, control, config, watch = new Watch(), observers = [] } = trainer;
  if (!(Number.isFinite(learningRate) && learningRate >= 0))
    throw new UserError(`the learning rate is a number >= 0, found ${learningRate}`);
  if (problems.length === 0) throw new UserError('a step takes one problem at least, found none');
  // Parts that act on later steps hear of this one as observers do.
  const events = joinObservers([...observers, control, trainer.movingReference, trainer.replay]);
  const work = new SharedWork(trainer, events);
  const batch = await rollOut(trainer, problems, step, events);
  if (trainer.reference || trainer.teacherServer || config.objective.oldLogprobs !== 'detach')
    await scoreFrozen(trainer, batch, events);
  control.weigh(batch, step);
  compareRewards(trainer, batch);
  await work.together(() => events.compared(batch, step));
  const results: UpdateResult[] = [];
  // An update cannot be taken back.
  const finishing = watch.finishing(
    `Step ${step + 1} has changed the weights already: it is finished first.`,
  );
  for (const update of updatesOf(batch, config, step)) {
    const progress = update.index === 0 ? watch : finishing;
    const loss = await accumulateGradients(trainer, batch, update, events, progress);
    const norms = events.stage('update', () =>
      stages.update(optimizer, learningRate, config.optimizer.maxGradNorm),
    );
    const result: UpdateResult = { learningRate, loss, ...norms };
    if (!Number.isFinite(result.gradNorm)) {
      events.failed(result);
      throw new NotFiniteError(result.gradNorm, step, update.index);
    }
    const checksums = await work.checksums(model.decoder);
    events.updated({ ...result, ...(checksums && { checksums }) });
    results.push(result);
    if (checksums?.some((own) => own !== checksums[0])) {
      events.done(batch, step);
      throw new RanksDifferError(checksums, step, update.index);
    }
  }
  events.done(batch, step);
  const meanOf = (key: 'loss' | 'gradNorm') => mean(results.map((result) => result[key]));
  return { batch, loss: meanOf('loss'), gradNorm: meanOf('gradNorm') };
}
