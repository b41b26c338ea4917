/** The clipped loss in its parts, each of which a fault may do otherwise. */
import type { Tensor } from '@grpo/torch';
import { klOf, type Loss, type LossInput, TokenRows } from '../objective/index.js';

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
  policy: (ratio_T, input) => {
    const { clipLow, clipHigh } = input.settings;
    const advantages_T = tokenAdvantages(input);
    return ratio_T
      .mul(advantages_T)
      .minimum(ratio_T.clamp(1 - clipLow, 1 + clipHigh).mul(advantages_T))
      .neg();
  },
  kl: (input, referenceLogprobs_T) =>
    klOf(input.settings.kl, { ...input, referenceLogprobs_T, full_T: null, rows: rowsOf(input) }),
  weights: ({ lengths, update }) =>
    lengths.flatMap((length) => Array<number>(length).fill(1 / update.tokens)),
  total: (policy_T, kl_T, weights_T, { betas }) =>
    (kl_T ? policy_T.add(kl_T.mul(betas[0]!)) : policy_T).mul(weights_T).sum(),
};

const rowsOf = ({ lengths, mask, logprobs_T }: LossInput) => new TokenRows(lengths, mask, logprobs_T);

/** Advantage of the completion that each token belongs to. */
export function tokenAdvantages(input: LossInput): Tensor {
  const rows = rowsOf(input);
  return rows.tensor(rows.spreadNumbers(input.advantages));
}

/** The loss with some of its parts replaced; its record is of what it computed. */
export function lossWith(changes: Partial<LossParts>): Loss {
  const parts = { ...rightParts, ...changes };
  return (input) => {
    const { referenceLogprobs_T } = input;
    const ratio_T = parts.ratio(input);
    const policy_T = parts.policy(ratio_T, input);
    const kl_T = referenceLogprobs_T && parts.kl(input, referenceLogprobs_T);
    const weights_T = rowsOf(input).tensor(parts.weights(input));
    return {
      loss: parts.total(policy_T, kl_T, weights_T, input),
      terms: {
        ratio_T: ratio_T.detach(),
        policy_T: policy_T.detach(),
        kl_T: kl_T?.detach() ?? null,
        weights_T,
      },
      ...(kl_T && { metrics: { means: { kl: { sum: kl_T.detach().sum().item(), of: kl_T.numel } } } }),
    };
  };
}
