import { withoutNaN } from '../../maths/moments.js';
import { median } from '../../maths/quantile.js';
import { logCheck, stepCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { compareFirst, placeOf } from '../measures/first-update.js';
import { notApplicable, pass, warn } from '../outcome.js';
import { say } from '../sentence.js';
import { isFull, toleranceOf } from '../tolerance.js';

/** Nats per token, in the median of a log: two engines usually differ by less. */
const MOST_GAP = 0.1;

export const b39: Fault = {
  code: 'B39',
  name: 'sampler gap',
  title: 'Sampler and trainer compute differently',
  checks: [
    stepCheck({
      code: 'B39.gap',
      title: 'Sampler and trainer give a token the same log-prob',
      stage: 'logprob',
      kind: 'heuristic',
      level: 3,
      rank: 5,
      threshold: `at the first update: mean |policy − sampler| ≤ 1e-4 in float32, ≤ 0.03 in half precision; largest ≤ 0.01 and ≤ 1; mean ≤ ${MOST_GAP} in half precision with a server of another engine, whose largest is not judged`,
      sources: [
        'huggingface/trl#3867',
        'huggingface/trl#4772',
        'inclusionAI/AReaL#1290',
        'bench/doctor-thresholds.mjs',
      ],
      why: 'One engine stays below the bounds on clean runs; between two engines 0.03 to 0.1 is usual.',
      remedy:
        'Check ids, temperature and mode first; then use the same precision and kernels on both sides, or importance sampling.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      settles: 'Both log-probs of one completion, computed in float32 by one engine.',
      proofs: ['native'],
      needs: ['firstPolicyLogprobs', 'comparableLogprobs'],
      test({ firstPolicyLogprobs, comparableLogprobs }, record) {
        const gap = compareFirst(record, firstPolicyLogprobs, comparableLogprobs);
        if (gap.tokens === 0) return notApplicable('completions scored in the sampled length');
        const isOther = record.servers?.some(({ isOwnEngine }) => !isOwnEngine) && !isFull(record);
        const tolerance = isOther ? { mean: MOST_GAP, max: Number.POSITIVE_INFINITY } : toleranceOf(record);
        const measured = { mean: gap.mean, max: gap.max, tokens: gap.tokens };
        return gap.mean <= tolerance.mean && gap.max <= tolerance.max
          ? pass(measured)
          : warn(measured, [placeOf(record, gap.worst)]);
      },
      says: (m) => say`Sampler and trainer differ by ${m.mean} nat per token on average, ${m.max} at most.`,
    }),
    logCheck({
      code: 'B39.log',
      title: 'Sampler and trainer give a token the same log-prob',
      stage: 'logprob',
      kind: 'heuristic',
      level: 3,
      rank: 7,
      threshold: `mean gap at most ${MOST_GAP} nat per token in the median`,
      sources: ['huggingface/trl#3867', 'huggingface/trl#4772', 'inclusionAI/AReaL#1290'],
      why: 'Two engines usually differ by 0.01 to 0.1.',
      remedy:
        'Check ids, temperature and mode first; then use the same precision and kernels on both sides, or importance sampling.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      induces: ['B54'],
      settles: 'The record of one step: the ids, the temperature, and both log-probs of each token.',
      proofs: [],
      needs: ['sampling/sampling_logp_difference/mean'],
      test(log) {
        const gaps = withoutNaN(log.column('sampling/sampling_logp_difference/mean'));
        const measured = { entries: gaps.length, median: median(gaps) };
        return measured.median > MOST_GAP ? warn(measured) : pass(measured);
      },
      ranges: () => [{ metric: 'sampling/sampling_logp_difference/mean', high: MOST_GAP }],
      says: (m) => say`Sampler and trainer differ by ${m.median} nat per token.`,
    }),
  ],
};
