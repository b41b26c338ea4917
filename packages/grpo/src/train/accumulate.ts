import { setImmediate } from 'node:timers/promises';
import { type Tensor, tensor, tidy } from '@grpo/torch';
import type { FrozenLogprobs } from './frozen-logprobs.js';
import { type MicroBatch, microBatches } from './micro-batch.js';
import type { Rollout } from './roll-out.js';
import type { Stopwatch } from './stopwatch.js';
import type { TokenTally } from './tally.js';
import { join } from './token-values.js';
import type { Trainer } from './trainer.js';
import { type ScoredIds, UpdateTrace } from './update-trace.js';

/** One optimizer update: what it learns from, and what it is measured by. */
export interface UpdateBatch {
  rollout: Rollout;
  frozen: FrozenLogprobs;
  /** Prompts whose groups make up this update. */
  prompts: readonly number[];
  /** The policy is still the one that sampled: its log-probs should be the sampler's. */
  compareSampler: boolean;
  /** Gets the ids that are scored, by completion. */
  scored: Map<number, ScoredIds>;
}

/**
 * Adds the gradients of one update's loss to the optimizer, micro-batch by micro-batch; after an error there are none.
 *
 * @returns the loss, and what it was made of
 */
export async function accumulateGradients(
  trainer: Trainer,
  batch: UpdateBatch,
  tally: TokenTally,
  clock: Stopwatch,
): Promise<{ loss: number; trace: UpdateTrace }> {
  const { config, optimizer } = trainer;
  const { completions_B } = batch.rollout;
  const micros = microBatches(batch.rollout, batch.prompts, config.train.microBatchTokens);
  const members = micros.flatMap((micro) => micro.members);
  const update = {
    completions: members.length,
    tokens: members.reduce((sum, b) => sum + completions_B[b]!.ids.length, 0),
  };
  const trace = new UpdateTrace(micros.length, batch.scored);
  let loss = 0;
  try {
    for (const micro of micros) {
      loss += tidy(() => backward(trainer, batch, micro, update, trace, tally, clock));
      await setImmediate();
    }
  } catch (error) {
    // Or the update after this one would begin with half of its gradients.
    optimizer.zeroGrad();
    throw error;
  }
  return { loss, trace };
}

/** Forward and backward pass of one micro-batch; returns its share of the update's loss. */
function backward(
  { stages, model, config, optimizer, sampling }: Trainer,
  { rollout, frozen, compareSampler }: UpdateBatch,
  micro: MicroBatch,
  update: { completions: number; tokens: number },
  trace: UpdateTrace,
  tally: TokenTally,
  clock: Stopwatch,
): number {
  const { loss: name, clipLow, clipHigh, beta } = config.objective;
  const { device } = model.decoder;
  const { groups, members } = micro;
  const completions = members.map((b) => rollout.completions_B[b]!);
  const lengths = completions.map(({ ids }) => ids.length);
  const tokensOf = (values_B: readonly Float32Array[]) => tensor(join(values_B), undefined, { device });
  const gather = (values_B: Float32Array[] | undefined): Tensor | null =>
    values_B ? tokensOf(members.map((b) => values_B[b]!)) : null;
  const advantages_B = members.map((b, i) =>
    new Float32Array(lengths[i]!).fill(rollout.advantages.advantages[b]!),
  );

  const scores = clock.time('logprob', () => stages.logprob(model.decoder, groups, sampling.temperature));
  const { logprobs_T, entropies_T } = scores;
  const { loss, metrics, terms } = stages.objective(name)({
    logprobs_T,
    oldLogprobs_T: gather(frozen.old_B),
    referenceLogprobs_T: gather(frozen.reference_B),
    advantages_T: tokensOf(advantages_B),
    lengths,
    update,
    clipLow,
    clipHigh,
    beta,
  });
  tally.add(metrics, entropies_T.sum().item());
  if (compareSampler) tally.compare(logprobs_T, tokensOf(completions.map(({ logprobs }) => logprobs)));
  clock.time('backward', () => {
    loss.backward();
    optimizer.accumulate();
  });
  trace.add(micro, scores, terms);
  return loss.item();
}
