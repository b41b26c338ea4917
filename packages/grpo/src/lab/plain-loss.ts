/** The clipped loss in its parts, each of which a fault may do otherwise. */
import { type Tensor, tensor } from '@grpo/torch';
import { k3, type Loss, type LossInput } from '../objective/index.js';

export interface LossParts {
  /** Policy to old policy: `[T]`. */
  ratio(input: LossInput): Tensor;
  policy(ratio_T: Tensor, input: LossInput): Tensor;
  kl(input: LossInput, reference_T: Tensor): Tensor;
  /** Weight of each token. */
  weights(input: LossInput): number[];
  /** The number that is minimised, from the terms and weights of the tokens. */
  total(policy_T: Tensor, kl_T: Tensor | null, weights_T: Tensor, input: LossInput): Tensor;
}

/** The parts as they should be, for the loss `dapo`. */
export const rightParts: LossParts = {
  ratio: ({ logprobs_T, oldLogprobs_T }) => logprobs_T.sub(oldLogprobs_T ?? logprobs_T.detach()).exp(),
  policy: (ratio_T, { advantages_T, clipLow, clipHigh }) =>
    ratio_T
      .mul(advantages_T)
      .minimum(ratio_T.clamp(1 - clipLow, 1 + clipHigh).mul(advantages_T))
      .neg(),
  kl: ({ logprobs_T }, reference_T) => k3(logprobs_T, reference_T),
  weights: ({ lengths, update }) =>
    lengths.flatMap((length) => Array<number>(length).fill(1 / update.tokens)),
  total: (policy_T, kl_T, weights_T, { beta }) =>
    (kl_T ? policy_T.add(kl_T.mul(beta)) : policy_T).mul(weights_T).sum(),
};

/** The loss with some of its parts replaced; its record is of what it computed. */
export function lossWith(changes: Partial<LossParts>): Loss {
  const parts = { ...rightParts, ...changes };
  return (input) => {
    const { logprobs_T, referenceLogprobs_T, beta } = input;
    const ratio_T = parts.ratio(input);
    const policy_T = parts.policy(ratio_T, input);
    const kl_T = beta !== 0 && referenceLogprobs_T ? parts.kl(input, referenceLogprobs_T) : null;
    const weights_T = tensor(parts.weights(input), undefined, {
      dtype: logprobs_T.dtype,
      device: logprobs_T.device,
    });
    return {
      loss: parts.total(policy_T, kl_T, weights_T, input),
      terms: {
        ratio_T: ratio_T.detach(),
        policy_T: policy_T.detach(),
        kl_T: kl_T?.detach() ?? null,
        weights_T,
      },
      metrics: {
        tokens: logprobs_T.size(0),
        kl: kl_T ? kl_T.detach().sum().item() : 0,
        clippedLow: 0,
        clippedHigh: 0,
      },
    };
  };
}
