import type { Tensor } from '@grpo/torch';
import { largest, smallest, sum } from '../../maths/moments.js';
import { isWholeWeight } from '../correction.js';
import type { LossInput, LossMetrics } from '../loss-types.js';
import { topEntropyMask } from '../masks.js';
import { leftTrustRegion, vespoWeights } from '../policy-term.js';
import type { Ratio } from '../ratio.js';
import type { LossSettings } from '../settings.js';
import type { TokenRows } from '../token-rows.js';
import { clipShares, type Share } from './clip-shares.js';
import { klMeans } from './kl-metrics.js';

/** Metrics of a loss, under TRL's names. */
export function lossMetrics(
  input: LossInput,
  ratio: Ratio,
  correction_T: Tensor | null,
  kl_T: Tensor | null,
  rows: TokenRows,
): LossMetrics {
  const { settings, entropies_T } = input;
  const means: Record<string, Share> = kl_T ? klMeans(kl_T, input, rows) : {};
  const weights = correction_T ? correctionMetrics(settings.correction, correction_T, rows) : undefined;
  if (settings.entropy.topShare < 1) {
    const kept_T = topEntropyMask(settings.entropy.topShare, entropies_T, rows);
    const entropies = entropies_T.detach().toNumbers();
    means['entropy/top'] = shareOf(entropies, (t) => kept_T[t] === 1);
  }
  const found = policyMetrics(input, ratio, correction_T, rows);
  return {
    means: { ...means, ...weights?.means, ...found.means },
    least: { ...weights?.least, ...found.least },
    most: { ...weights?.most, ...found.most },
  };
}

/** Weights of the correction for the sampler: over tokens, or over completions where each has one. */
function correctionMetrics(
  correction: LossSettings['correction'],
  correction_T: Tensor,
  rows: TokenRows,
): Required<LossMetrics> {
  const weights_T = correction_T.toNumbers();
  const weights = isWholeWeight(correction)
    ? firstTokens(rows).map((t) => weights_T[t] ?? 1)
    : weights_T.filter((_, t) => rows.isTrained(t));
  const name = 'sampling/importance_sampling_ratio';
  return {
    means: {
      [`${name}/mean`]: { sum: sum(weights), of: weights.length },
      'sampling/left_out': { sum: weights.filter((weight) => weight === 0).length, of: weights.length },
    },
    least: { [`${name}/min`]: smallest(weights) },
    most: { [`${name}/max`]: largest(weights) },
  };
}

/** Metrics of the policy term. */
function policyMetrics(
  { settings, advantages, logprobs_T }: LossInput,
  ratio: Ratio,
  correction_T: Tensor | null,
  rows: TokenRows,
): LossMetrics {
  switch (settings.policy) {
    case 'clip': {
      const { clipLow, clipHigh, delta = Number.POSITIVE_INFINITY } = settings;
      const ratios = ratio.ratio_T.toNumbers();
      const { least, most, ...shares } = clipShares(rows, settings.ratio === 'sequence', (t, b) => {
        const bounded = Math.min(ratios[t]!, delta);
        if (bounded < 1 - clipLow && advantages[b]! < 0) return 'low';
        return bounded > 1 + clipHigh && advantages[b]! > 0 ? 'high' : undefined;
      });
      return { means: shares.means, least, most };
    }
    case 'dppo_tv':
    case 'dppo_kl': {
      const advantages_T = rows.tensor(rows.spreadNumbers(advantages));
      const left_T = leftTrustRegion(settings.policy, {
        logprobs_T,
        difference_T: ratio.difference_T,
        advantages_T,
        settings,
      }).toNumbers();
      const signs_T = advantages_T.toNumbers();
      const { least, most, ...shares } = clipShares(rows, false, (t) => {
        if (left_T[t] === 0 || signs_T[t] === 0) return undefined;
        return signs_T[t]! > 0 ? 'high' : 'low';
      });
      return { means: shares.means, least, most };
    }
    case 'cispo': {
      const advantages_T = rows.spreadNumbers(advantages);
      const isCapped = (value: number, t: number) => Number(value > settings.cap && advantages_T[t]! > 0);
      const firsts = new Set(firstTokens(rows));
      // With one ratio per completion its first token stands for it.
      const share = shareOf(ratio.ratio_T.toNumbers().map(isCapped), (t) =>
        settings.ratio === 'sequence' ? firsts.has(t) : rows.isTrained(t),
      );
      return { means: { cispo_clip_ratio: share } };
    }
    case 'vespo': {
      const advantages_B = rows.tensor(advantages);
      const weights_B = vespoWeights({ ...ratio, correction_T, advantages_B, rows, settings });
      const phi = { sum: weights_B.sum().item(), of: rows.lengths.length };
      return { means: { 'vespo/phi_seq_mean': phi } };
    }
    default:
      return { means: {} };
  }
}

/** Sum over some tokens, and how many they are. */
function shareOf(values_T: readonly number[], counts: (t: number) => boolean): Share {
  const counted = values_T.filter((_, t) => counts(t));
  return { sum: sum(counted), of: counted.length };
}

/** The place of each completion's first token; −1 where it has none: `[B]`. */
function firstTokens({ lengths }: TokenRows): number[] {
  let start = 0;
  return lengths.map((length) => {
    start += length;
    return length > 0 ? start - length : -1;
  });
}
