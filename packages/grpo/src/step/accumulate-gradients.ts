import { tensor, tidy } from '@grpo/torch';
import type { Config } from '../config/schema.js';
import { joinRows } from '../maths/lists.js';
import { sum } from '../maths/moments.js';
import { sampledValues } from '../models/index.js';
import type { LossInput, LossSettings, TokenScores, UpdateSize } from '../objective/index.js';
import type { Watch } from '../progress/watch.js';
import type { Batch, Iteration } from './batch.js';
import { eachMicroBatch, type MicroBatch, membersOf, tokensOf } from './micro-batch.js';
import { joinObservers, type MicroBatchPass, type StepEvents } from './observer.js';
import { SharedWork } from './peers/shared-work.js';
import type { Trainer } from './trainer.js';
import { openTrainingPass, type PassProgress } from './training-pass.js';
import type { Update } from './updates.js';

/**
 * Adds the gradients of one update's loss to the optimizer, micro-batch by micro-batch; after an error there are none.
 *
 * @returns the loss
 */
export async function accumulateGradients(
  trainer: Trainer,
  batch: Batch,
  update: Update,
  events: StepEvents,
  watch: Watch,
): Promise<number> {
  const { config, optimizer, model } = trainer;
  const { iteration, prompts, apart } = update;
  const groups = batch.groupsIn(iteration);
  const size = updateSize(iteration, membersOf(groups, prompts), config.objective);
  const limits = { tokens: config.train.microBatchTokens, stage: 'training', watch, apart };
  let loss = 0;
  const tally = {
    updateBegins: () => {
      loss = 0;
    },
    microBatchDone: ({ output }: MicroBatchPass) => {
      loss += output.loss.item();
    },
  };
  const allEvents = joinObservers([events, tally]);
  const work = new SharedWork(trainer, allEvents);
  try {
    allEvents.updateBegins(update);
    await work.accumulate(
      prompts,
      (p) => tokensOf(groups, p),
      optimizer,
      (own, ownEvents) => {
        const add = (micro: MicroBatch, tell: PassProgress) => {
          ownEvents.microBatchBegins(micro, () => sampledValues(optimizer.gradients));
          tidy(() => learn(trainer, batch, micro, { iteration, size }, ownEvents, tell));
        };
        const restart = () => {
          optimizer.zeroGrad();
          ownEvents.updateBegins(update);
        };
        return eachMicroBatch(model.decoder, groups, own, limits, add, restart);
      },
    );
    events.beforeUpdate(update);
  } catch (error) {
    // Or the update after this one would begin with half of its gradients.
    optimizer.zeroGrad();
    throw error;
  }
  return loss;
}

/** Size of an update of these completions, by which its loss is normalized. */
export function updateSize(
  { masks_B }: Pick<Iteration, 'masks_B'>,
  members: readonly number[],
  { compat }: Config['objective'],
): UpdateSize {
  const tokensOf = (masks: readonly Uint8Array[]) => masks.reduce((total, mask) => total + sum(mask), 0);
  const tokens = {
    // TRL divides each update by the mean of all of the rollout, and did by their sum up to 1.10.
    trl: () => (tokensOf(masks_B) * members.length) / masks_B.length,
    'trl-1.10': () => tokensOf(masks_B),
    ours: () => tokensOf(members.map((b) => masks_B[b]!)),
  };
  return { completions: members.length, tokens: tokens[compat ?? 'ours']() };
}

/** Forward and backward pass of one micro-batch, which adds to the optimizer's gradients. */
export function learn(
  trainer: Trainer,
  batch: Batch,
  micro: MicroBatch,
  update: { iteration: Iteration; size: UpdateSize },
  events: StepEvents,
  tell: PassProgress,
): void {
  const { stages, model, reference, config, optimizer, sampling, control } = trainer;
  const { recompute } = config.train;
  using pass = openTrainingPass(model.decoder, micro.size, { recompute, room: trainer.activationRoom, tell });
  const scores = events.stage('logprob', () =>
    stages.logprob(pass.decoder, micro.groups, sampling.temperature, {
      entropyGradient: control.entropyCoefficient !== 0,
      fullKlTo: config.kl.estimator === 'full' ? reference : undefined,
      onLayer: pass.onLayer,
    }),
  );
  const input = lossInput(trainer, batch, micro, update, scores);
  const output = stages.objective(input);
  events.stage('backward', () => optimizer.accumulate(() => pass.backward(output.loss)));
  const rank = trainer.peers?.rank ?? 0;
  events.microBatchDone({
    micro,
    rank,
    scores,
    input,
    output,
    gradients: () => sampledValues(optimizer.gradients),
  });
}

/** The part of the batch that a micro-batch holds, token by token and completion by completion. */
function lossInput(
  { model, config, control }: Trainer,
  batch: Batch,
  { members }: MicroBatch,
  { iteration, size }: { iteration: Iteration; size: UpdateSize },
  { logprobs_T, entropies_T, fullKl_T }: TokenScores,
): LossInput {
  const { kl } = config;
  const { betas_P, kinds_P } = batch;
  const { masks_B, masked_B, old_B, reference_B } = iteration;
  const { device } = model.decoder;
  const pick = <V>(values_B: ArrayLike<V>): V[] => members.map((b) => values_B[b]!);
  const tokensOf = (values_B: readonly Float32Array[]) =>
    tensor(joinRows(Float32Array, pick(values_B)), undefined, { device });
  const lengths = pick(batch.trained.completions_B).map(({ ids }) => ids.length);
  const completions = pick(batch.completions_B);
  // A stage of one's own may train on other tokens than were sampled; an estimate sees others than the sampler saw.
  const isSampled = !masked_B && completions.every(({ ids }, i) => ids.length === lengths[i]);
  return {
    logprobs_T,
    entropies_T,
    oldLogprobs_T: old_B ? tokensOf(old_B) : null,
    referenceLogprobs_T: reference_B ? tokensOf(reference_B) : null,
    samplerLogprobs_T: isSampled ? tokensOf(batch.behaviorLogprobs_B) : null,
    fullKl_T: fullKl_T ?? null,
    advantages: pick(batch.advantages.advantages),
    lengths,
    mask: joinRows(Uint8Array, pick(masks_B)),
    update: size,
    betas: members.map((b) => (kl.place === 'loss' ? betas_P[batch.problemOf(b)]! : 0)),
    kinds: kl.kindKey === undefined ? undefined : members.map((b) => kinds_P[batch.problemOf(b)]!),
    entropyCoefficient: control.entropyCoefficient,
    settings: lossSettings(config),
  };
}

/** Settings of the loss. */
const lossSettings = ({ objective, kl, entropy, correction }: Config): LossSettings => ({
  ...objective,
  kl,
  entropy,
  correction,
});
