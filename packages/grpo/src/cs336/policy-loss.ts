import { type Tensor, tidy } from '@grpo/torch';
import { clip, reinforce } from '../objective/policy-term.js';
import { batchShape, demand, requireShape } from './inputs.js';

export interface NaivePolicyGradientLossOptions {
  /** One number a completion: `[B, 1]`. */
  rawRewardsOrAdvantages: Tensor;
  /** log π of each token: `[B, S]`. */
  policyLogProbs: Tensor;
}

/**
 * REINFORCE: −reward × log π of each token, prompt and padding included.
 *
 * @returns `[B, S]`
 * @throws TypeError naming a missing input; RangeError for another shape
 *
 * @example
 * import { tensor } from '@grpo/torch';
 * import { computeNaivePolicyGradientLoss } from 'grpo/cs336';
 *
 * const policyLogProbs = tensor([-1, -2, -3, -4], [2, 2]);
 * const rawRewardsOrAdvantages = tensor([1, 0.5], [2, 1]);
 * const loss = computeNaivePolicyGradientLoss({ rawRewardsOrAdvantages, policyLogProbs });
 * console.log(loss.toNumbers()); // [1, 2, 1.5, 2]
 */
export function computeNaivePolicyGradientLoss(options: NaivePolicyGradientLossOptions): Tensor {
  const where = 'computeNaivePolicyGradientLoss';
  demand(where, options, 'rawRewardsOrAdvantages', 'policyLogProbs');
  const { rawRewardsOrAdvantages, policyLogProbs } = options;
  const [batch] = batchShape(where, policyLogProbs);
  requireShape(where, [batch, 1], { rawRewardsOrAdvantages });
  return tidy(() => reinforce({ logprobs_T: policyLogProbs, advantages_T: rawRewardsOrAdvantages }));
}

export interface GrpoClipLossOptions {
  /** One number a completion: `[B, 1]`. */
  advantages: Tensor;
  /** log π of each token: `[B, S]`. */
  policyLogProbs: Tensor;
  /** log π of each token when it was sampled: `[B, S]`. No gradient goes there. */
  oldLogProbs: Tensor;
  /** The ratio is clipped to 1 ± this. */
  cliprange: number;
}

/** What a loss tells of itself. */
export interface LossMetadata {
  /** Tokens whose ratio the clip cut off, which so have no gradient: bool `[B, S]`; of `grpo_clip` only. */
  clipped?: Tensor;
}

/** A loss and what it tells of itself. */
export interface LossWithMetadata {
  loss: Tensor;
  metadata: LossMetadata;
}

/**
 * −min(ratio × A, clip(ratio) × A) of each token, prompt and padding included.
 *
 * @returns `loss` `[B, S]`
 * @throws TypeError naming a missing input; RangeError for another shape
 *
 * @example
 * import { tensor } from '@grpo/torch';
 * import { computeGrpoClipLoss } from 'grpo/cs336';
 *
 * const { loss, metadata } = computeGrpoClipLoss({
 *   advantages: tensor([1], [1, 1]),
 *   policyLogProbs: tensor([Math.log(2), 0], [1, 2]),
 *   oldLogProbs: tensor([0, 0], [1, 2]),
 *   cliprange: 0.25,
 * });
 * console.log(loss.toNumbers(), metadata.clipped?.toNumbers()); // [-1.25, -1] [1, 0]
 */
export function computeGrpoClipLoss(
  options: GrpoClipLossOptions,
): LossWithMetadata & { metadata: { clipped: Tensor } } {
  return clipLoss('computeGrpoClipLoss', options);
}

function clipLoss(where: string, options: Partial<GrpoClipLossOptions>) {
  demand(where, options, 'policyLogProbs', 'advantages', 'oldLogProbs', 'cliprange');
  const { advantages, policyLogProbs, oldLogProbs, cliprange } = options;
  const [batch, length] = batchShape(where, policyLogProbs);
  requireShape(where, [batch, 1], { advantages });
  requireShape(where, [batch, length], { oldLogProbs });
  return tidy(() => {
    const ratio_T = policyLogProbs.sub(oldLogProbs.detach()).exp();
    const settings = { clipLow: cliprange, clipHigh: cliprange };
    const loss = clip({ ratio_T, advantages_T: advantages, settings });
    const unclipped = ratio_T.detach().mul(advantages).neg();
    return { loss, metadata: { clipped: loss.detach().gt(unclipped) } };
  });
}

/** The losses of the assignment. */
export type LossType = 'no_baseline' | 'reinforce_with_baseline' | 'grpo_clip';

export interface PolicyGradientLossOptions {
  /** log π of each token: `[B, S]`. */
  policyLogProbs: Tensor;
  lossType: LossType;
  /** `[B, 1]`; needed by `no_baseline`. */
  rawRewards?: Tensor | undefined;
  /** `[B, 1]`; needed by `reinforce_with_baseline` and `grpo_clip`. */
  advantages?: Tensor | undefined;
  /** `[B, S]`; needed by `grpo_clip`. */
  oldLogProbs?: Tensor | undefined;
  /** Needed by `grpo_clip`. */
  cliprange?: number | undefined;
}

type Compute = (where: string, options: PolicyGradientLossOptions) => LossWithMetadata;

/** −A × log π with the rewards, or with the advantages, as A. */
const naive =
  (name: 'rawRewards' | 'advantages'): Compute =>
  (where, options) => {
    demand(where, options, 'policyLogProbs', name);
    const { policyLogProbs, [name]: factor } = options;
    requireShape(where, [batchShape(where, policyLogProbs)[0], 1], { [name]: factor });
    const loss = computeNaivePolicyGradientLoss({ rawRewardsOrAdvantages: factor, policyLogProbs });
    return { loss, metadata: {} };
  };

const losses: Record<LossType, Compute> = {
  no_baseline: naive('rawRewards'),
  reinforce_with_baseline: naive('advantages'),
  grpo_clip: clipLoss,
};

/**
 * The loss of each token by the name of the loss. An input that the named loss does not read may be given, and is not
 * looked at.
 *
 * @returns `loss` `[B, S]`
 * @throws TypeError naming a missing input, or for an unknown `lossType`; RangeError for another shape
 *
 * @example
 * import { tensor } from '@grpo/torch';
 * import { computePolicyGradientLoss } from 'grpo/cs336';
 *
 * const { loss } = computePolicyGradientLoss({
 *   policyLogProbs: tensor([-1, -2], [1, 2]),
 *   lossType: 'no_baseline',
 *   rawRewards: tensor([0.5], [1, 1]),
 * });
 * console.log(loss.toNumbers()); // [0.5, 1]
 */
export function computePolicyGradientLoss(options: PolicyGradientLossOptions): LossWithMetadata {
  return policyGradientLoss('computePolicyGradientLoss', options);
}

/** The same, for a function that is called `where`. */
export function policyGradientLoss(where: string, options: PolicyGradientLossOptions): LossWithMetadata {
  demand(where, options, 'lossType');
  const { lossType } = options;
  if (!Object.hasOwn(losses, lossType)) {
    const known = Object.keys(losses).join(', ');
    throw new TypeError(`${where}: lossType must be one of ${known}; found ${String(lossType)}`);
  }
  return losses[lossType](`${where} with lossType ${lossType}`, options);
}
