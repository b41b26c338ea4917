import { type Tensor, tidy } from '@grpo/torch';
import { batchShape, demand, requireShape } from './inputs.js';
import { maskedMean, maskedNormalize } from './masked.js';
import { type LossWithMetadata, type PolicyGradientLossOptions, policyGradientLoss } from './policy-loss.js';

/** What both steps take. */
interface MicrobatchOptions {
  /** log π of each token, with gradient: `[B, S]`. */
  policyLogProbs: Tensor;
  /** True or 1 for the tokens of the response: `[B, S]`. */
  responseMask: Tensor;
  /** Micro-batches of an update; the loss is divided by it. */
  gradientAccumulationSteps: number;
}

export interface GrpoMicrobatchOptions extends MicrobatchOptions, PolicyGradientLossOptions {
  policyLogProbs: Tensor;
}

/**
 * Adds the gradient of one micro-batch: the mean over its completions of the mean loss of their response tokens, over
 * the number of micro-batches. That is the product's aggregation `sequence_mean`.
 *
 * @returns `loss`, a scalar without graph: the micro-batch's share; `metadata` of the loss
 * @throws TypeError naming a missing input, or where there is no gradient to add; RangeError for another shape, and for a
 * completion without response tokens, whose mean is 0 / 0 and would make every weight NaN
 *
 * @example
 * import { tensor } from '@grpo/torch';
 * import { grpoMicrobatchTrainStep } from 'grpo/cs336';
 *
 * const policyLogProbs = tensor([-1, -2, -3, -4], [2, 2]);
 * policyLogProbs.requiresGrad = true;
 * const { loss } = grpoMicrobatchTrainStep({
 *   policyLogProbs,
 *   responseMask: tensor([0, 1, 1, 1], [2, 2]),
 *   gradientAccumulationSteps: 2,
 *   lossType: 'reinforce_with_baseline',
 *   advantages: tensor([1, -1], [2, 1]),
 * });
 * console.log(loss.item(), policyLogProbs.grad?.toNumbers()); // -0.375 [-0, -0.25, 0.125, 0.125]
 */
export function grpoMicrobatchTrainStep(options: GrpoMicrobatchOptions): LossWithMetadata {
  const where = 'grpoMicrobatchTrainStep';
  check(where, options);
  requireResponses(where, options.responseMask);
  return tidy(() => {
    const { loss, metadata } = policyGradientLoss(where, options);
    const means_B = maskedMean({ tensor: loss, mask: options.responseMask, dim: 1 });
    return { loss: backward(means_B, options), metadata };
  });
}

export interface SftMicrobatchOptions extends MicrobatchOptions {
  /** What each completion's sum is divided by; 1 when left out. */
  normalizeConstant?: number | undefined;
}

/**
 * Adds the gradient of one micro-batch of demonstrations: the mean over its completions of the summed −log π of their
 * response tokens over `normalizeConstant`, over the number of micro-batches.
 *
 * @returns `loss`, a scalar without graph: the micro-batch's share
 * @throws TypeError naming a missing input, or where there is no gradient to add; RangeError for another shape
 *
 * @example
 * import { tensor } from '@grpo/torch';
 * import { sftMicrobatchTrainStep } from 'grpo/cs336';
 *
 * const policyLogProbs = tensor([-1, -2, -3, -4], [2, 2]);
 * policyLogProbs.requiresGrad = true;
 * const responseMask = tensor([0, 1, 1, 1], [2, 2]);
 * const { loss } = sftMicrobatchTrainStep({ policyLogProbs, responseMask, gradientAccumulationSteps: 2 });
 * console.log(loss.item()); // 2.25
 */
export function sftMicrobatchTrainStep(options: SftMicrobatchOptions): { loss: Tensor } {
  check('sftMicrobatchTrainStep', options);
  const { policyLogProbs: tensor, responseMask: mask, normalizeConstant } = options;
  return tidy(() => {
    const sums_B = maskedNormalize({ tensor, mask, dim: 1, normalizeConstant }).neg();
    return { loss: backward(sums_B, options) };
  });
}

function check(where: string, options: MicrobatchOptions): void {
  demand(where, options, 'policyLogProbs', 'responseMask', 'gradientAccumulationSteps');
  const { policyLogProbs, responseMask, gradientAccumulationSteps: steps } = options;
  requireShape(where, batchShape(where, policyLogProbs), { responseMask });
  if (!(Number.isInteger(steps) && steps > 0))
    throw new RangeError(`${where}: gradientAccumulationSteps must be a whole number >= 1, found ${steps}`);
  if (!policyLogProbs.requiresGrad)
    throw new TypeError(`${where}: policyLogProbs has no gradient; were they computed inside noGrad()?`);
}

function requireResponses(where: string, responseMask: Tensor): void {
  const counts = tidy(() => responseMask.to('bool').sumDim([1]).toNumbers());
  const empty = counts.indexOf(0);
  if (empty >= 0)
    throw new RangeError(`${where}: row ${empty} of responseMask has no token, so its mean loss is 0 / 0`);
}

function backward(losses_B: Tensor, { gradientAccumulationSteps }: MicrobatchOptions): Tensor {
  const loss = losses_B.mean().div(gradientAccumulationSteps);
  loss.backward();
  return loss.detach();
}
