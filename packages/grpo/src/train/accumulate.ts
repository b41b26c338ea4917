import { type Tensor, tensor, tidy } from '@grpo/torch';
import type { FrozenLogprobs } from './frozen-logprobs.js';
import { eachMicroBatch, type MicroBatch, membersOf } from './micro-batch.js';
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
  const { trained } = batch.rollout;
  const members = membersOf(trained, batch.prompts);
  const update = {
    completions: members.length,
    tokens: members.reduce((sum, b) => sum + trained.completions_B[b]!.ids.length, 0),
  };
  const trace = new UpdateTrace(batch.scored);
  const tokens = config.train.microBatchTokens;
  let loss = 0;
  try {
    trace.configured = await eachMicroBatch(
      trainer.model.decoder,
      trained,
      batch.prompts,
      tokens,
      (micro) => {
        optimizer.discard(); // what a backward pass that ran out of memory left
        loss += tidy(() => backward(trainer, batch, micro, update, trace, tally, clock));
      },
    );
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
  const lengths = members.map((b) => rollout.trained.completions_B[b]!.ids.length);
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
  const samplers_B = members.map((b) => rollout.completions_B[b]!.logprobs);
  // A stage of one's own may train on other tokens than were sampled.
  const comparable = compareSampler && samplers_B.every((own, i) => own.length === lengths[i]);
  const samplers_T = comparable ? tokensOf(samplers_B) : undefined;
  clock.time('backward', () => {
    loss.backward();
    optimizer.accumulate();
  });
  // Nothing is counted before: when memory runs out up to here, the micro-batch is done again in halves.
  tally.add(metrics, entropies_T.sum().item());
  if (samplers_T) tally.compare(logprobs_T, samplers_T);
  trace.add(micro, scores, terms, optimizer.accumulated);
  return loss.item();
}
