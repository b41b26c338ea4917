import type { Tensor } from '@grpo/torch';
import { sum } from '../maths/moments.js';
import { sequenceWeights, tokenWeights } from './aggregation.js';
import { samplerCorrection } from './correction.js';
import { entropyMean } from './entropy.js';
import { klOf } from './kl.js';
import type { Loss, LossConventions, LossInput, LossMetrics } from './loss-types.js';
import { offPolicyMask, topEntropyMask } from './masks.js';
import { lossMetrics } from './metrics/loss-metrics.js';
import { policyTerms } from './policy-term.js';
import { type Ratio, ratioOf } from './ratio.js';
import { TokenRows } from './token-rows.js';
import { trlLoss } from './trl.js';

/** Our conventions: tokens and entropies weigh by the whole update, however it is split. */
const ours: LossConventions = {
  trainedOnly,
  weights: ({ settings, update }, rows) =>
    rows.maskNumbers(rows.spreadNumbers(tokenWeights(settings, rows.counts, update))),
  entropyShare: ({ update }, rows) => sum(rows.counts) / Math.max(update.tokens, 1),
};

/**
 * The loss that the settings describe: Σ weight × (policy term × masks × correction + β × KL) − c × entropy.
 *
 * @throws TypeError when a choice needs log-probs that were not given
 */
export const composedLoss = ((given: LossInput) => {
  const rows = new TokenRows(given.lengths, given.mask, given.logprobs_T);
  const { compat } = given.settings;
  const conventions = compat === undefined ? ours : { ...ours, ...trlLoss[compat] };
  const input = conventions.trainedOnly(given, rows);
  const { logprobs_T, oldLogprobs_T, entropyCoefficient, settings } = input;
  const ratio = ratioOf(settings.ratio, logprobs_T, oldLogprobs_T, rows);
  const correction_T = correctionOf(input, rows);
  const policy_T = policyTerm(input, ratio, correction_T, rows);
  const weights_T = rows.tensor(conventions.weights(input, rows));
  const kl = klTerm(input, ratio.ratio_T, weights_T, rows);
  const parts = [
    { name: 'policy', coefficient: 1, value: policy_T.mul(weights_T).sum() },
    ...(kl && kl.beta !== 0
      ? [{ name: 'kl', coefficient: kl.beta, value: kl.kl_T.mul(kl.weights_T).sum() }]
      : []),
    ...(entropyCoefficient === 0
      ? []
      : [
          {
            name: 'entropy',
            coefficient: -entropyCoefficient,
            value: entropyMean(input, rows, conventions.entropyShare(input, rows)),
          },
        ]),
  ];
  let metrics: LossMetrics | undefined;
  return {
    loss: parts.map(({ coefficient, value }) => value.mul(coefficient)).reduce((sum, part) => sum.add(part)),
    terms: {
      ratio_T: ratio.ratio_T.detach(),
      policy_T: policy_T.detach(),
      kl_T: kl?.kl_T.detach() ?? null,
      weights_T,
      klWeights_T: kl && kl.weights_T !== weights_T ? kl.weights_T : null,
    },
    parts: parts.map(({ value, ...part }) => ({ ...part, value: value.item() })),
    /** Computed where something reads them. */
    get metrics() {
      metrics ??= lossMetrics(input, ratio, correction_T, kl?.kl_T ?? null, rows);
      return metrics;
    },
  };
}) satisfies Loss;

/** Tokens that are not trained on get values of 0: no exponential of their values may reach a gradient. */
function trainedOnly(input: LossInput, rows: TokenRows): LossInput {
  const trained = (values_T: Tensor | null) => values_T && rows.maskTensor(values_T);
  return {
    ...input,
    logprobs_T: rows.maskTensor(input.logprobs_T),
    entropies_T: rows.maskTensor(input.entropies_T),
    oldLogprobs_T: trained(input.oldLogprobs_T),
    referenceLogprobs_T: trained(input.referenceLogprobs_T),
    samplerLogprobs_T: trained(input.samplerLogprobs_T),
    fullKl_T: trained(input.fullKl_T),
  };
}

function correctionOf(
  { settings, logprobs_T, oldLogprobs_T, samplerLogprobs_T }: LossInput,
  rows: TokenRows,
) {
  const { level } = settings.correction;
  if (level === 'off') return null;
  const sampler_T = needed(samplerLogprobs_T, 'a sampler correction', "the sampler's");
  const trainer_T = oldLogprobs_T ?? logprobs_T.detach();
  return samplerCorrection({ ...settings.correction, level }, trainer_T, sampler_T, rows);
}

function policyTerm(input: LossInput, ratio: Ratio, correction_T: Tensor | null, rows: TokenRows): Tensor {
  const { settings, logprobs_T, advantages, lengths } = input;
  const { policy } = settings;
  const { topShare } = settings.entropy;
  const uncertain = topShare < 1 ? topEntropyMask(topShare, input.entropies_T, rows) : null;
  // The mean of gmpo is one over the tokens that are kept.
  const kept = uncertain && policy === 'gmpo' ? new TokenRows(lengths, uncertain, logprobs_T) : rows;
  const advantages_B = rows.tensor(advantages);
  const plain_T = policyTerms[policy]({
    ...ratio,
    logprobs_T,
    advantages_B,
    advantages_T: rows.spread(advantages_B),
    correction_T,
    rows: kept,
    settings,
  });
  const factors = [
    uncertain && kept === rows ? rows.tensor(uncertain) : null,
    offPolicyFactor(input, rows),
    // The weight of vespo has the correction in it.
    policy === 'vespo' ? null : correction_T,
  ];
  return factors.reduce<Tensor>((term_T, factor_T) => (factor_T ? term_T.mul(factor_T) : term_T), plain_T);
}

function offPolicyFactor(input: LossInput, rows: TokenRows): Tensor | null {
  const { settings, logprobs_T, samplerLogprobs_T, oldLogprobs_T, advantages } = input;
  if (settings.offPolicyThreshold === undefined) return null;
  const sampled_T = samplerLogprobs_T ?? oldLogprobs_T ?? logprobs_T;
  const near_B = offPolicyMask(settings.offPolicyThreshold, sampled_T, logprobs_T, advantages, rows);
  return rows.tensor(rows.spreadNumbers(near_B));
}

const hasKl = ({ betas }: LossInput) => Array.from(betas).some((beta) => beta !== 0);

/** The KL of each token, with the weights and the β with which it enters the loss; null without a reference. */
function klTerm(input: LossInput, ratio_T: Tensor, policyWeights_T: Tensor, rows: TokenRows) {
  const { settings, logprobs_T, fullKl_T: full_T, betas, update } = input;
  if (!input.referenceLogprobs_T && !hasKl(input)) return null;
  const referenceLogprobs_T = needed(input.referenceLogprobs_T, 'β', "the reference's");
  const plain_T = klOf(settings.kl, { logprobs_T, referenceLogprobs_T, full_T, rows });
  const kl_T = settings.kl.biasCorrected ? plain_T.mul(ratio_T) : plain_T;
  // A KL per completion is averaged over completions; the token weights of the policy do not apply.
  const weights_T =
    settings.kl.level === 'token'
      ? policyWeights_T
      : rows.tensor(rows.maskNumbers(rows.spreadNumbers(sequenceWeights(rows.counts, update))));
  const [beta = 0] = Array.from(betas);
  // With kinds, the micro-batches of an update must agree on the place of β.
  return !input.kinds && Array.from(betas).every((other) => other === beta)
    ? { kl_T, weights_T, beta }
    : { kl_T, weights_T: weights_T.mul(rows.tensor(rows.spreadNumbers(betas))), beta: 1 };
}

function needed(logprobs_T: Tensor | null, what: string, whose: string): Tensor {
  if (logprobs_T) return logprobs_T;
  throw new TypeError(`${what} needs ${whose} log-probs, and none were given`);
}
