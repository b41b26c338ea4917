import { z } from 'zod';
import type { DiffusionSettings } from '../config/sections/diffusion.js';
import { rolloutSection } from '../config/sections/rollout.js';
import { nearestName } from '../errors/nearest-name.js';
import { UserError } from '../errors/user-error.js';
import type { TokenSets } from '../formats/token-sets.js';
import { LEAST_LOT } from '../memory/room.js';

/** Why a completion ended: at an end token or stop string, or because it may not grow longer. */
export type FinishReason = 'stop' | 'length';

/** The places after a prompt that a masked-diffusion model filled. */
export interface Region {
  /** All tokens, those after the end of the completion as well: `[W]`. */
  ids: number[];
  /** The denoising step that filled each, from 0: `[W]`. */
  order: number[];
}

/** One sampled answer to a prompt. */
export interface Completion {
  /** Token ids as sampled; the end token, when one came, is the last. */
  ids: number[];
  /** The ids as text, stop string included, end token left out. */
  text: string;
  finishReason: FinishReason;
  /**
   * log π(token) under softmax(logits / temperature), before any truncation or penalty: what training scores.
   * At temperature 0 under softmax(logits).
   */
  logprobs: Float32Array;
  /** log-probability of each token under the distribution that it was drawn from; 0 at temperature 0. */
  sampledLogprobs: Float32Array;
  /**
   * The ids that each token could have been drawn from, where top-k, top-p or min-p left less than the vocabulary and
   * `keepSupport` asked for them.
   */
  support?: TokenSets;
  /** Checksum of the weights that sampled it; undefined where that is not known. */
  weights?: number;
  /** Of one that a server sampled: which, as `HOST:PORT`, and the version of the weights that it says it had. */
  source?: { server: string; weightVersion: string };
  /** Of a masked-diffusion model: all that it filled; `ids` is its beginning. */
  region?: Region;
}

/** The way in which a masked-diffusion model fills the places of a completion. */
export type DenoisingOptions = Pick<DiffusionSettings, 'blockLength' | 'steps' | 'remasking'>;

/** How the next token is chosen. */
export interface SamplingOptions {
  /** Longest completion, in tokens. */
  maxNewTokens: number;
  /**
   * Before this many tokens no end token is drawn, and a stop string that is completed has no effect, then or later:
   * only one that a later token completes ends the completion.
   */
  minNewTokens: number;
  /** Divides the logits; 0 takes the likeliest token. */
  temperature: number;
  /** Keeps the likeliest tokens that together hold this much probability, above 0; 1 is off. */
  topP: number;
  /** Keeps the k likeliest tokens, and all that are as likely as the last of them; 0 is off. */
  topK: number;
  /** Keeps tokens at least this likely relative to the likeliest; 0 is off. */
  minP: number;
  /** Completions keep the ids that top-k, top-p and min-p left for each token. */
  keepSupport: boolean;
  /** Divides positive and multiplies negative logits of tokens generated before; 1 is off. */
  repetitionPenalty: number;
  /** Subtracted from the logits of tokens generated before; 0 is off. */
  presencePenalty: number;
  /** Subtracted once for each time a token was generated before; 0 is off. */
  frequencyPenalty: number;
  /** Strings that end a completion; they stay in it. */
  stop: readonly string[];
  /** Refuses a model whose log-probs of a completion depend on the completions that are sampled beside it. */
  invariant: boolean;
  /** How a masked-diffusion model fills its places; a causal model has none. */
  diffusion: DenoisingOptions;
  /** Bytes that completions decoded at once may take in cache and logits; not more than one where that takes more. */
  lotBytes: number;
}

/** Plain sampling: the model's own distribution. */
export const plainSampling: SamplingOptions = {
  maxNewTokens: 256,
  minNewTokens: 0,
  temperature: 1,
  topP: 1,
  topK: 0,
  minP: 0,
  keepSupport: false,
  repetitionPenalty: 1,
  presencePenalty: 0,
  frequencyPenalty: 0,
  stop: [],
  invariant: false,
  diffusion: { remasking: 'low_confidence' },
  lotBytes: LEAST_LOT,
};

/** The ranges are those of the configuration. */
const ranges = z.object(
  rolloutSection.pick({
    maxNewTokens: true,
    minNewTokens: true,
    temperature: true,
    topP: true,
    topK: true,
    minP: true,
    repetitionPenalty: true,
    presencePenalty: true,
    frequencyPenalty: true,
  }).shape,
);

/** @throws UserError for an unknown or missing option, or a number out of its range */
export function requireOptions(options: SamplingOptions): void {
  const names = Object.keys(plainSampling) as (keyof SamplingOptions)[];
  const unknown = Object.keys(options).find((name) => !names.includes(name as keyof SamplingOptions));
  if (unknown !== undefined) {
    const nearest = nearestName(unknown, names);
    throw new UserError(`sample() has no option ${unknown}. The nearest known one is ${nearest}.`);
  }
  const missing = names.find((name) => options[name] === undefined);
  if (missing !== undefined)
    throw new UserError(`sample() needs ${missing}`, {
      hint: 'Begin with { ...plainSampling } and change what should differ.',
    });
  const checked = ranges.safeParse(options);
  if (!checked.success)
    throw new UserError(`sample() cannot follow its options\n${z.prettifyError(checked.error)}`);
}
