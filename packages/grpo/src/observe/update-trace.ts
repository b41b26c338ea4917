import { noGrad, type Tensor, tidy } from '@grpo/torch';
import { joinRows } from '../maths/lists.js';
import type { LossPart } from '../objective/index.js';
import type { MicroBatchPass } from '../step/observer.js';
import type { Update } from '../step/updates.js';
import type { UpdateRecord } from '../trace/index.js';

type PerToken =
  | 'policyLogprobs'
  | 'entropies'
  | 'ratios'
  | 'policyTerms'
  | 'klTerms'
  | 'weights'
  | 'klWeights';

/** The tokens that were scored for a prompt and its completion. */
export interface ScoredIds {
  prompt: readonly number[];
  completion: readonly number[];
}

/** Collects, micro-batch by micro-batch, what the record of an optimizer update holds. */
export class UpdateTrace {
  readonly #members: number[] = [];
  readonly #sizes: number[] = [];
  readonly #values: Partial<Record<PerToken, Float32Array[]>> = {};
  readonly #components = new Map<string, LossPart>();
  #configured = 0;
  /** Log-probs of all micro-batches, joined when they are first asked for: then all are there. */
  #policy: Float32Array | undefined;

  constructor(
    /** By completion; filled as they are scored. */
    private readonly scored: Map<number, ScoredIds>,
    /** The pass over the rollout that it is part of, and its number. */
    private readonly pass: Pick<Update, 'iteration'> & { number: number },
  ) {}

  /**
   * Takes the values of a micro-batch.
   *
   * @param arrived - whether its gradient is part of the update: otherwise its values are none of it
   */
  add({ micro, scores, output }: MicroBatchPass, arrived: boolean): void {
    const { terms = {}, parts = [] } = output;
    const ids = micro.groups.flatMap(({ prompt, completions }) =>
      completions.map((completion) => ({ prompt, completion })),
    );
    for (const [i, b] of micro.members.entries()) this.scored.set(b, ids[i]!);
    this.#configured++;
    if (!arrived) return;
    this.#members.push(...micro.members);
    this.#sizes.push(micro.members.length);
    this.#push('policyLogprobs', scores.logprobs_T);
    this.#push('entropies', scores.entropies_T);
    this.#push('ratios', terms.ratio_T);
    this.#push('policyTerms', terms.policy_T);
    this.#push('klTerms', terms.kl_T);
    this.#push('weights', terms.weights_T);
    this.#push('klWeights', terms.klWeights_T);
    for (const { name, coefficient, value } of parts) {
      const so = this.#components.get(name)?.value ?? 0;
      this.#components.set(name, { name, coefficient, value: so + value });
    }
  }

  /** The completions of the update, in the order of their values. */
  get members(): readonly number[] {
    return this.#members;
  }

  /** Log-probs of the tokens of one of them as they were scored. */
  policyOf(completion: number): Float32Array {
    const place = this.#members.indexOf(completion);
    const lengthOf = (b: number) => this.scored.get(b)!.completion.length;
    const start = this.#members.slice(0, place).reduce((sum, b) => sum + lengthOf(b), 0);
    this.#policy ??= joinRows(Float32Array, this.#values.policyLogprobs!);
    return this.#policy.subarray(start, start + lengthOf(completion));
  }

  /** The record of the update, with what the optimizer tells. */
  record(facts: UpdateRecord): UpdateRecord {
    const perToken = Object.entries(this.#values).map(
      ([name, parts]) => [name, joinRows(Float32Array, parts)] as const,
    );
    const values = Object.fromEntries(perToken) as Pick<UpdateRecord, PerToken>;
    return {
      completions: Int32Array.from(this.#members),
      ...this.#ofIteration(values),
      ...values,
      ...(this.#components.size > 0 && { components: [...this.#components.values()] }),
      microBatches: { executed: this.#sizes.length, configured: this.#configured, sizes: this.#sizes },
      ...facts,
    };
  }

  /** What an iteration has for itself, where it is not the first. */
  #ofIteration({ weights }: Pick<UpdateRecord, 'weights'>): UpdateRecord {
    const { number, iteration } = this.pass;
    if (number === 0) return {};
    const { masks_B, old_B, reference_B } = iteration;
    const own = <V>(values_B: readonly V[]) => this.#members.map((b) => values_B[b]!);
    return {
      iteration: number,
      mask: weights
        ? Uint8Array.from(weights, (weight) => Number(weight !== 0))
        : joinRows(Uint8Array, own(masks_B)),
      ...(old_B && { oldLogprobs: joinRows(Float32Array, own(old_B)) }),
      ...(reference_B && { referenceLogprobs: joinRows(Float32Array, own(reference_B)) }),
    };
  }

  #push(name: PerToken, values: Tensor | null | undefined): void {
    if (!values) return;
    const own = new Float32Array(values.detach().toTypedArray() as Float32Array);
    this.#values[name] = [...(this.#values[name] ?? []), own];
  }
}

/**
 * The first matrices of adapters whose second ones are 0: no gradient passes through those. They all move at once, so that one
 * second matrix that has moved answers for all.
 */
export function idleAdapters(trainable: ReadonlyMap<string, Tensor>): ReadonlySet<string> {
  const seconds = [...trainable].filter(([name]) => name.endsWith('.lora_B.weight'));
  const isZero = (tensor: Tensor) => noGrad(() => tidy(() => tensor.any().item() === 0));
  if (seconds.length === 0 || !isZero(seconds[0]![1])) return new Set();
  return new Set(
    seconds.flatMap(([name, b]) => (isZero(b) ? [name.replace(/lora_B\.weight$/, 'lora_A.weight')] : [])),
  );
}

/**
 * Gradient norms by layer, and the share of tensors that got no gradient.
 *
 * @param idle - names of tensors that can have none yet
 */
export function normsOf(
  norms: ReadonlyMap<string, number>,
  idle: ReadonlySet<string>,
): Pick<UpdateRecord, 'gradNorms' | 'zeroGradients'> {
  const groups: Record<string, number> = {};
  let zero = 0;
  for (const [name, norm] of norms) {
    // `model.layers.3.mlp.up_proj.weight` belongs to `model.layers.3`.
    const group = /^.*?\.\d+(?=\.)/.exec(name)?.[0] ?? name;
    groups[group] = Math.hypot(groups[group] ?? 0, norm);
    if (norm === 0 && !idle.has(name)) zero++;
  }
  return { gradNorms: groups, zeroGradients: zero / norms.size };
}
