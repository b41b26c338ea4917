import { type Tensor, tensor, tidy } from '@grpo/torch';
import type { Config } from '../config/schema.js';
import { openPass } from '../models/index.js';
import type { Share, UpdateSize } from '../objective/index.js';
import type { Watch } from '../progress/watch.js';
import type { Rollout } from './batch.js';
import type { FrozenLogprobs } from './frozen-logprobs.js';
import { KindGradients } from './kind-gradients.js';
import { lossSettings } from './loss-settings.js';
import { eachMicroBatch, type MicroBatch, membersOf } from './micro-batch.js';
import { type PassProgress, trainingPasses } from './pass-progress.js';
import { recomputes } from './recompute.js';
import type { Stopwatch } from './stopwatch.js';
import { MetricTally } from './tally.js';
import { join } from './token-values.js';
import type { Trainer } from './trainer.js';
import { type ScoredIds, UpdateTrace } from './update-trace.js';

/** One optimizer update: what it learns from, and what it is measured by. */
export interface UpdateBatch {
  rollout: Rollout;
  frozen: FrozenLogprobs;
  /** Prompts whose groups make up this update. */
  prompts: readonly number[];
  /** Weight of the KL to the reference, of each prompt of the rollout. */
  betas_P: readonly number[];
  /** Kinds of these, where they are told apart. */
  kinds_P: readonly string[];
  /** Measures how the gradients of these stand to each other. */
  compareKinds?: boolean;
  /** The policy is still the one that sampled: its log-probs should be the sampler's. */
  compareSampler: boolean;
  /** Gets the ids that are scored, by completion. */
  scored: Map<number, ScoredIds>;
}

/** What the micro-batches of an update add up to, beside its gradients. */
interface Accumulated {
  loss: number;
  /** What the loss was made of. */
  trace: UpdateTrace;
  tally: MetricTally;
  /** Where kinds are compared, the gradients of each. */
  kinds: KindGradients | undefined;
}

/**
 * Adds the gradients of one update's loss to the optimizer, micro-batch by micro-batch; after an error there are none.
 *
 * @returns what the update is made of; `kinds` is to be disposed
 */
export async function accumulateGradients(
  trainer: Trainer,
  batch: UpdateBatch,
  clock: Stopwatch,
  watch?: Watch,
): Promise<Accumulated> {
  const { config, optimizer, model } = trainer;
  const { rollout, compareKinds, kinds_P } = batch;
  const update = updateSize(batch, config);
  const nothing = (): Accumulated => ({
    loss: 0,
    trace: new UpdateTrace(batch.scored),
    tally: new MetricTally(),
    kinds: compareKinds ? new KindGradients(optimizer) : undefined,
  });
  let sum = nothing();
  const group = rollout.completions_B.length / rollout.prompts.length;
  const kindOf = (b: number) => kinds_P[Math.floor(b / group)]!;
  const add = (micro: MicroBatch, tell: PassProgress) => {
    sum.kinds?.begin(kindOf(micro.members[0]!));
    sum.loss += tidy(() => backward(trainer, batch, micro, update, sum, { clock, tell }));
  };
  const restart = () => {
    optimizer.zeroGrad();
    sum.kinds?.dispose();
    sum = nothing();
  };
  try {
    const order = compareKinds ? byKind(batch) : batch.prompts;
    const apart = compareKinds ? kindOf : undefined;
    const limits = { tokens: config.train.microBatchTokens, stage: 'training', watch, apart };
    const micros = await eachMicroBatch(model.decoder, rollout.trained, order, limits, add, restart);
    sum.trace.configured = micros;
  } catch (error) {
    // Or the update after this one would begin with half of its gradients.
    optimizer.zeroGrad();
    sum.kinds?.dispose();
    throw error;
  }
  return sum;
}

/** The prompts, kind by kind. */
function byKind({ prompts, kinds_P }: UpdateBatch): number[] {
  const kinds = [...new Set(prompts.map((p) => kinds_P[p]!))];
  return kinds.flatMap((kind) => prompts.filter((p) => kinds_P[p] === kind));
}

/** What the loss of the update is normalized by. */
function updateSize({ rollout, prompts }: UpdateBatch, { objective }: Config): UpdateSize {
  const { trained, masks_B } = rollout;
  const members = membersOf(trained, prompts);
  const tokensOf = (masks: readonly Uint8Array[]) => masks.reduce((total, mask) => total + sum(mask), 0);
  const tokens = {
    // TRL divides each update by the mean of all of the rollout, and did by their sum up to 1.10.
    trl: () => (tokensOf(masks_B) * members.length) / masks_B.length,
    'trl-1.10': () => tokensOf(masks_B),
    ours: () => tokensOf(members.map((b) => masks_B[b]!)),
  };
  return { completions: members.length, tokens: tokens[objective.compat ?? 'ours']() };
}

/** Forward and backward pass of one micro-batch; returns its share of the update's loss. */
function backward(
  trainer: Trainer,
  { rollout, frozen, betas_P, kinds_P, compareSampler }: UpdateBatch,
  micro: MicroBatch,
  update: UpdateSize,
  { trace, tally }: Accumulated,
  { clock, tell }: { clock: Stopwatch; tell: PassProgress },
): number {
  const { stages, model, reference, config, optimizer, sampling, control } = trainer;
  const { kl } = config;
  const { device } = model.decoder;
  const { groups, members } = micro;
  const group = rollout.completions_B.length / rollout.prompts.length;
  const promptOf = (b: number) => Math.floor(b / group);
  const of = <V>(values_B: readonly V[]): V[] => members.map((b) => values_B[b]!);
  const tokensOf = (values_B: readonly Float32Array[]) => tensor(join(of(values_B)), undefined, { device });
  const lengths = of(rollout.trained.completions_B).map(({ ids }) => ids.length);
  const mask = Uint8Array.from(of(rollout.masks_B).flatMap((own) => [...own]));
  // A stage of one's own may train on other tokens than were sampled.
  const isSampled = of(rollout.completions_B).every(({ ids }, i) => ids.length === lengths[i]);
  const samplers_T = isSampled ? tokensOf(rollout.completions_B.map(({ logprobs }) => logprobs)) : null;

  using pass = openPass(
    model.decoder,
    recomputes(config.train.recompute, model.decoder, micro.size, trainer.activationRoom),
  );
  const { onLayer, onMark } = trainingPasses(model.decoder.config.layers, tell);
  const scores = clock.time('logprob', () =>
    stages.logprob(pass.decoder, groups, sampling.temperature, {
      entropyGradient: control.entropyCoefficient !== 0,
      fullKlTo: kl.estimator === 'full' ? reference : undefined,
      onLayer,
    }),
  );
  const { logprobs_T, entropies_T } = scores;
  const { loss, metrics, ...trail } = stages.objective({
    logprobs_T,
    entropies_T,
    oldLogprobs_T: frozen.old_B ? tokensOf(frozen.old_B) : null,
    referenceLogprobs_T: frozen.reference_B ? tokensOf(frozen.reference_B) : null,
    samplerLogprobs_T: samplers_T,
    fullKl_T: scores.fullKl_T ?? null,
    advantages: of([...rollout.advantages.advantages]),
    lengths,
    mask,
    update,
    betas: members.map((b) => (kl.place === 'loss' ? betas_P[promptOf(b)]! : 0)),
    kinds: kl.kindKey === undefined ? undefined : members.map((b) => kinds_P[promptOf(b)]!),
    entropyCoefficient: control.entropyCoefficient,
    settings: lossSettings(config),
  });
  clock.time('backward', () => optimizer.accumulate(() => pass.backward(loss, onMark)));
  const own_T = ownTokens(members, lengths, (b) => !rollout.exchange?.replayed.has(promptOf(b)), device);
  tally.add({ ...metrics, means: { entropy: meanOf(entropies_T, mask), ...metrics?.means } });
  if (samplers_T && compareSampler && own_T) {
    tally.compare(logprobs_T.detach().indexSelect(0, own_T), samplers_T.indexSelect(0, own_T));
  }
  trace.add(micro, scores, trail, optimizer.accumulated);
  return loss.item();
}

/** Places of the tokens that were sampled in this step, not replayed; undefined where there are none. */
function ownTokens(
  members: readonly number[],
  lengths: readonly number[],
  isOwn: (b: number) => boolean,
  device: string,
): Tensor | undefined {
  const owners = members.flatMap((b, i) => Array<boolean>(lengths[i]!).fill(isOwn(b)));
  const places = owners.flatMap((own, t) => (own ? [t] : []));
  return places.length > 0 ? tensor(places, undefined, { dtype: 'int64', device }) : undefined;
}

/** Sum over the trained tokens, and how many they are. */
function meanOf(values_T: Tensor, mask: Uint8Array): Share {
  const values = values_T.detach().toNumbers();
  return { sum: values.reduce((total, value, t) => total + (mask[t] ? value : 0), 0), of: sum(mask) };
}

const sum = (mask: Uint8Array) => mask.reduce((a, b) => a + b, 0);
