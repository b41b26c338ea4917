import type { Advantages } from '../objective/index.js';
import { type Drawn, tokensIn } from './drawn.js';
import type { Groups } from './micro-batch.js';

/** What a step learns from: P prompts, B = P × G completions, prompt after prompt. */
export interface Sampled extends Drawn {
  /** The ids of prompts and completions that are scored and trained on. */
  trained: Groups;
  /** How the groups came together, where some may give way to others. */
  exchange?: Exchange;
  /** 1 where a token of `trained` enters the loss, completion by completion. */
  masks_B: Uint8Array[];
}

/** The same, compared within each group. */
export interface Rollout extends Sampled {
  /** β × KL of each completion, where that is taken from its reward. */
  klPenalties_B?: Float64Array | undefined;
  advantages: Advantages;
}

/** A group of an earlier step. */
export interface StoredGroup {
  /** The one group, with the sampler's log-probs. */
  group: Drawn;
  /** Log-probs of the policy that sampled it by the trainer, where that computed them. */
  old: readonly Float32Array[] | undefined;
  /** Step that sampled it, counted from 0. */
  step: number;
  /** How much it teaches: Σ |advantage| × deviation of the rewards. */
  score: number;
}

/** How the groups of a step came together. */
export interface Exchange {
  /** The groups of the step's own problems, before any gave way. */
  own: Drawn;
  /** Groups sampled in the step, those that gave way included. */
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

/** Tokens that were sampled for a rollout, those of groups that gave way included. */
export const tokensOf = (sampled: Sampled): number => sampled.exchange?.tokens ?? tokensIn(sampled);
