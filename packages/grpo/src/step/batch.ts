import type { Advantages, MaskedCompletion, RewardColumns } from '../objective/index.js';
import { type RewardTable, totals } from '../rewards/index.js';
import type { Completion } from '../rollout/index.js';
import type { Problem } from '../tasks/task.js';
import type { RenderedPrompt } from '../text/render.js';
import type { Groups } from './micro-batch.js';

/**
 * Everything that a step knows of its completions: P problems with B = P × G completions, problem after problem. Each
 * stage of the step adds its results.
 */
export class Batch {
  readonly problems: readonly Problem[];
  readonly prompts: readonly RenderedPrompt[];
  readonly completions_B: readonly Completion[];
  readonly rewardTable: RewardTable;
  /** Weighted sums of the rewards; NaN where a completion could not be scored. */
  readonly rewards_B: Float64Array;
  /** How the groups came together, where flat ones may be replaced. */
  exchange?: Exchange;
  /** The ids that are scored and trained on: those sampled, unless a user's stage gives others. */
  trained: Groups;
  /** The passes over the rollout; those of a causal model are all the same one. */
  iterations: readonly Iteration[] = [];
  /** Kind of each problem; '' where kinds are not told apart. */
  kinds_P: readonly string[];
  /** Weight of the KL to the reference, by problem. */
  betas_P: readonly number[] = [];
  /** β × KL of each completion, where that is taken from its reward. */
  klPenalties_B: Float64Array | undefined;
  #advantages: Advantages | undefined;

  /** Groups as they were sampled and scored. */
  constructor({
    problems,
    prompts,
    completions_B,
    rewardTable,
  }: Pick<Batch, 'problems' | 'prompts' | 'completions_B' | 'rewardTable'>) {
    this.problems = problems;
    this.prompts = prompts;
    this.completions_B = completions_B;
    this.rewardTable = rewardTable;
    this.rewards_B = totals(rewardTable);
    this.trained = { prompts, completions_B };
    this.kinds_P = problems.map(() => '');
  }

  /** Completions per problem: G. */
  get groupSize(): number {
    return this.completions_B.length / this.problems.length;
  }

  /** The problem of a completion, by its place. */
  problemOf(b: number): number {
    return Math.floor(b / this.groupSize);
  }

  /** The completions of a problem, by their places. */
  membersOf(p: number): number[] {
    return Array.from({ length: this.groupSize }, (_, g) => p * this.groupSize + g);
  }

  /** The trained tokens of the first iteration, by completion. */
  get masks_B(): readonly Uint8Array[] {
    return this.iterations[0]?.masks_B ?? [];
  }

  /** The old log-probs of the first iteration. */
  get old_B(): readonly Float32Array[] | undefined {
    return this.iterations[0]?.old_B;
  }

  /** The reference's log-probs of the first iteration. */
  get reference_B(): readonly Float32Array[] | undefined {
    return this.iterations[0]?.reference_B;
  }

  /** The ids that an iteration scores, with their masks. */
  groupsIn({ masked_B }: Iteration): Groups {
    return { ...this.trained, masked_B };
  }

  /** The reward of each completion, compared within its group. */
  get advantages(): Advantages {
    if (!this.#advantages) throw new Error('the rewards of this batch have not been compared yet');
    return this.#advantages;
  }

  set advantages(advantages: Advantages) {
    this.#advantages = advantages;
  }

  /** Columns that are compared: the rewards, and the KL penalties as one more. */
  get compared(): RewardColumns & { names: readonly string[] } {
    const { rewardTable, rewards_B, klPenalties_B } = this;
    const { names, columns, weights } = rewardTable;
    if (!klPenalties_B) return { names, columns, weights, totals: rewards_B };
    return {
      names: [...names, 'kl_penalty'],
      columns: [...columns, klPenalties_B],
      weights: [...weights, -1],
      totals: rewards_B.map((reward, b) => reward - klPenalties_B[b]!),
    };
  }

  /** The sampler's log-probs under the distribution that is scored: over the support of each token, where it was kept. */
  get behaviorLogprobs_B(): Float32Array[] {
    return this.completions_B.map(({ logprobs, sampledLogprobs, support }) =>
      support ? sampledLogprobs : logprobs,
    );
  }

  /** Tokens as TRL counts them: a prompt once for each of its completions. */
  get tokens(): number {
    const { prompts, completions_B } = this;
    return completions_B.reduce(
      (sum, { ids }, b) => sum + ids.length + prompts[this.problemOf(b)]!.ids.length,
      0,
    );
  }

  /** Tokens that were sampled for the batch, those of replaced groups included. */
  get sampledTokens(): number {
    return this.exchange?.tokens ?? this.tokens;
  }
}

/** A pass over the rollout: the tokens of `trained` that it learns from, and the log-probs that they are compared with. */
export interface Iteration {
  /** 1 where a token enters the loss, by completion. */
  masks_B: readonly Uint8Array[];
  /** Of a masked-diffusion model: how each completion is hidden while its log-probs are estimated, old and new alike. */
  masked_B?: readonly MaskedCompletion[] | undefined;
  /** Log-probs by the policy that sampled; undefined where the policy's own, detached, serve. */
  old_B?: readonly Float32Array[] | undefined;
  /** Log-probs by the reference; undefined without one. */
  reference_B?: readonly Float32Array[] | undefined;
}

/** How the groups of a step came together. */
export interface Exchange {
  /** The groups of the step's own problems, before any was replaced. */
  own: Batch;
  /** Groups sampled in the step, the replaced ones included. */
  sampled: number;
  /** Tokens of them all. */
  tokens: number;
  /** Groups of further problems in place of flat ones. */
  refilled: number;
  /** Stored groups in place of flat ones, by the place of their prompt. */
  replayed: ReadonlyMap<number, StoredGroup>;
  /** The groups, by the place of their prompt, that are flat still. */
  flat: readonly number[];
}

/** A group of an earlier step. */
export interface StoredGroup {
  /** The one group, with the sampler's log-probs. */
  group: Batch;
  /** Log-probs of the policy that sampled it by the trainer, where that computed them. */
  old: readonly Float32Array[] | undefined;
  /** Step that sampled it, counted from 0. */
  step: number;
  /** How much it teaches: Σ |advantage| × deviation of the rewards. */
  score: number;
}
