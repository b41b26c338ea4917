import type { Tensor } from '@grpo/torch';
import { weighings } from '../../doctor/recompute/aggregation.js';
import { formOf } from '../../doctor/recompute/form.js';
import { nonzero } from '../../maths/moments.js';
import type { Batch, Iteration } from '../../step/batch.js';
import type { MicroBatchPass } from '../../step/observer.js';
import type { Trainer } from '../../step/trainer.js';
import type { Update } from '../../step/updates.js';
import { declaredOf } from '../../trace/declared-of.js';
import type { HandOver } from '../../trace/index.js';
import type { FollowingMeasure, Measured } from '../context.js';
import { problemOf, samplerLogprobs } from '../places.js';
import { type Pair, worstOf } from '../worst.js';

/** Relative: weights are float32. */
const ROUNDING = 1e-5;

/** One update, as far as its micro-batches are done. */
interface OpenUpdate {
  /** The pass over the rollout that it is part of. */
  iteration: Iteration;
  members: number[];
  /** Completions of each micro-batch. */
  sizes: number[];
  /** Weights of the tokens of each member; none where the loss tells none. */
  weights: Float32Array[];
}

/**
 * Holds what the loss of each update was given, token by token, to the batch that the update is of: which completions,
 * with whose advantages, masks and log-probs, and how much each token weighs.
 */
export class LossInputAudit implements FollowingMeasure {
  readonly #pairs = new Map<string, Pair[]>();
  #batch: Batch | undefined;
  #updates = 0;
  #open: OpenUpdate | undefined;

  /** @param trainer - the one that takes the step */
  constructor(private readonly trainer: Trainer) {}

  get measured(): readonly Measured[] {
    return [
      {
        comparisons: [...this.#pairs].flatMap(([quantity, pairs]) =>
          worstOf(HAND_OVERS[quantity] ?? 'loss', quantity, pairs),
        ),
      },
    ];
  }

  compared(batch: Batch): void {
    this.#batch = batch;
  }

  updateBegins({ iteration }: Pick<Update, 'iteration'>): void {
    this.#open = { iteration, members: [], sizes: [], weights: [] };
  }

  microBatchDone({ micro, scores, input, output }: MicroBatchPass): void {
    const { members } = micro;
    const batch = this.#batch!;
    const open = this.#open!;
    open.members.push(...members);
    open.sizes.push(members.length);
    const { config, ownStages } = this.trainer;
    const { kl, entropy } = config;
    for (const [i, completion] of members.entries()) {
      const pair = (quantity: string, found: number | undefined, plain: number) =>
        this.#add(quantity, { found: found ?? Number.NaN, plain, bound: 0, completion });
      pair('length in the loss', input.lengths[i], batch.trained.completions_B[completion]!.ids.length);
      pair('advantage in the loss', input.advantages[i], batch.advantages.advantages[completion]!);
      const beta = kl.place === 'loss' ? batch.betas_P[problemOf(batch, completion)]! : 0;
      pair(BETA, input.betas[i], beta);
    }
    if (!entropy.adaptive)
      this.#add('coefficient of the entropy', {
        found: input.entropyCoefficient,
        plain: entropy.coefficient,
        bound: 0,
      });
    const rowsOf = (values_B: readonly ArrayLike<number>[]) => members.map((b) => values_B[b]!);
    const { masks_B, masked_B, reference_B } = open.iteration;
    this.#addRows('mask in the loss', members, input.mask, rowsOf(masks_B));
    const old_B = declaredOld(config, batch, open.iteration);
    if (old_B) this.#addRows(OLD, members, input.oldLogprobs_T, rowsOf(old_B));
    else this.#add(OLD, { found: input.oldLogprobs_T?.numel ?? 0, plain: 0, bound: 0 });
    if (reference_B)
      this.#addRows(
        "reference's log-prob in the loss",
        members,
        input.referenceLogprobs_T,
        rowsOf(reference_B),
      );
    if (input.samplerLogprobs_T) {
      const sampler = members.map((b) => samplerLogprobs(batch.completions_B[b]!));
      this.#addRows("sampler's log-prob in the loss", members, input.samplerLogprobs_T, sampler);
    }
    // A sum over several passes is no log-prob of one distribution.
    const isOnePass = members.every((b) => (masked_B?.[b]?.plan.length ?? 1) === 1);
    if (!ownStages?.includes('logprob') && isOnePass)
      this.#compareEntropies(members, scores.logprobs_T, scores.entropies_T);
    const weights_T = output.terms?.weights_T;
    if (weights_T) open.weights.push(...cutLike(numbersOf(weights_T), rowsOf(masks_B)));
  }

  beforeUpdate(): void {
    this.#updates++;
    this.#compareWeights();
  }

  done(): void {
    const { iterations, minibatches } = this.trainer.config.objective;
    const { problems, advantages } = this.#batch!;
    const kept = [...problems.keys()].filter((p) => !advantages.dropped.includes(p));
    const parts = new Set(kept.map((p) => Math.floor((p * minibatches) / problems.length)));
    this.#add('number of updates', { found: this.#updates, plain: iterations * parts.size, bound: 0 });
  }

  #compareWeights(): void {
    const { iteration, members, sizes, weights } = this.#open!;
    const { config, ownStages } = this.trainer;
    const masks = iteration.masks_B;
    const declared = { ...declaredOf(config), ...(ownStages && { ownStages: [...ownStages] }) };
    const form = formOf(declared);
    if (typeof form === 'string' || weights.length !== members.length) return;
    const own = members.map((b) => nonzero(masks[b]!));
    // The first way counts completions that are masked as a whole, as this trainer does.
    const ways = weighings(form, declared, { own, sizes, all: masks.map(nonzero) });
    if (typeof ways === 'string') return;
    for (const [i, completion] of members.entries()) {
      const expected = ways[0]![i]!;
      const weightOf = (t: number) => (masks[completion]![t] ? expected : 0);
      const token = weights[i]!.findIndex((w, t) => !(Math.abs(w - weightOf(t)) <= ROUNDING * weightOf(t)));
      const t = Math.max(token, 0);
      this.#add('weight of a token in the loss', {
        found: weights[i]![t] ?? Number.NaN,
        plain: weightOf(t),
        bound: ROUNDING * weightOf(t),
        completion,
        ...(token >= 0 && { token }),
      });
    }
  }

  /**
   * The entropy of a distribution lies between two bounds that the probability of any one of its tokens gives: those of
   * a log-prob that is 0, or a constant, are soon left.
   */
  #compareEntropies(members: readonly number[], logprobs_T: Tensor, entropies_T: Tensor): void {
    const { vocabSize } = this.trainer.model.decoder.config;
    const [logprobs, entropies] = [numbersOf(logprobs_T), numbersOf(entropies_T)];
    const masks = members.map((b) => this.#open!.iteration.masks_B[b]!);
    let start = 0;
    for (const [i, completion] of members.entries()) {
      const pairs = Array.from(masks[i]!, (_, token): Pair => {
        const found = entropies[start + token]!;
        const logprob = Math.min(0, logprobs[start + token]!);
        const rest = -Math.expm1(logprob);
        const least = -Math.exp(logprob) * logprob - (rest > 0 ? rest * Math.log(rest) : 0);
        const most = least + rest * Math.log(vocabSize - 1);
        return { found, plain: Math.max(least, Math.min(most, found)), bound: NATS, completion, token };
      });
      const [worst] = worstOf('old log-probs', ENTROPY, pairs);
      if (worst) this.#add(ENTROPY, worst);
      start += pairs.length;
    }
  }

  /** Values of the micro-batch, one row after another, beside those of its completions. */
  #addRows(
    quantity: string,
    members: readonly number[],
    values: Tensor | Uint8Array | null,
    rows: readonly ArrayLike<number>[],
  ): void {
    const found = values === null ? [] : values instanceof Uint8Array ? values : numbersOf(values);
    let start = 0;
    for (const [i, completion] of members.entries()) {
      const row = Array.from(rows[i]!);
      const token = row.findIndex((plain, t) => found[start + t] !== plain);
      const t = Math.max(token, 0);
      this.#add(quantity, {
        found: found[start + t] ?? Number.NaN,
        plain: row[t] ?? Number.NaN,
        bound: 0,
        completion,
        ...(token >= 0 && { token }),
      });
      start += row.length;
    }
  }

  #add(quantity: string, pair: Pair): void {
    const pairs = this.#pairs.get(quantity) ?? [];
    pairs.push(pair);
    this.#pairs.set(quantity, pairs);
  }
}

/** Both come from the same logits, in float32 whatever the weights have. */
const NATS = 0.01;

const ENTROPY = "entropy beside the token's log-prob";
const OLD = 'old log-prob in the loss';
const BETA = 'β in the loss';

/** Hand-overs of the quantities that reach the loss from earlier stages. */
const HAND_OVERS: Readonly<Record<string, HandOver>> = {
  [ENTROPY]: 'old log-probs',
  [OLD]: 'old log-probs',
  [BETA]: 'kl',
};

/** The old log-probs that the loss is to take; undefined where the policy's own, detached, serve. */
function declaredOld(
  { objective }: Trainer['config'],
  batch: Batch,
  { old_B }: Iteration,
): readonly ArrayLike<number>[] | undefined {
  const { trained, completions_B, exchange } = batch;
  if (objective.oldLogprobs === 'detach') return undefined;
  const isSampled = trained.completions_B.every(({ ids }, b) => ids.length === completions_B[b]!.ids.length);
  if (objective.oldLogprobs === 'sampler' && isSampled) return completions_B.map(samplerLogprobs);
  // A replayed group keeps the old log-probs of the step that sampled it.
  return trained.completions_B.map(({ ids }, b) => {
    const stored = exchange?.replayed.get(batch.problemOf(b))?.old?.[b % batch.groupSize];
    return stored ?? old_B?.[b] ?? new Float32Array(ids.length).fill(Number.NaN);
  });
}

const numbersOf = (values: Tensor) => values.detach().toTypedArray() as Float32Array;

/** The values, cut into rows as long as others. */
function cutLike(values: Float32Array, rows: readonly ArrayLike<number>[]): Float32Array[] {
  let end = 0;
  return rows.map(({ length }) => {
    end += length;
    return values.slice(end - length, end);
  });
}
