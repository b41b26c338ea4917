import { withoutNaN } from '../../maths/moments.js';
import { median } from '../../maths/quantile.js';
import type { StepRecord } from '../../trace/index.js';
import { type LogCheck, logCheck, stepCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { compareFirst, placeOf, placeOfGap } from '../measures/first-update.js';
import { fail, inform, notApplicable, pass, warn } from '../outcome.js';
import { say } from '../sentence.js';
import { isFull, toleranceOf } from '../tolerance.js';

/** Nats per token, in the median of a log: two engines usually differ by less. */
const MOST_GAP = 0.1;

/** Nats of one token that float32 rounds nowhere, in one engine. */
const NO_ROUNDING = 0.1;
/** Share of a distance that has one sign where no token is the other way. */
const ALL_HIGHER = 0.999;

const isTruncated = ({ declared }: StepRecord): boolean => {
  const { topP = 1, topK = 0, minP = 0 } = declared?.rollout ?? {};
  return topP < 1 || topK > 0 || minP > 0;
};

/** @param place - 0 where there is none */
const behind = (place: number) =>
  place === 0
    ? ''
    : say` All tokens that are apart stand at place ${place + 1} of their completion or later, and none before: look at what decoding does from there on, such as its cache, its positions, or a window.`;

/** Least mean of the importance weights in the median of a log: that of healthy runs is 0.8 and above. */
const LEAST_WEIGHT = 0.5;

/** Judges what lies beyond a bound: one entry alone informs, for it may be of no token. */
const beyond = ({ entries }: { entries: number }) => (entries > 1 ? warn : inform);

/** A log's mean gap between the two, in the unit of its metric. */
const gapCheck = ({
  metric,
  most,
  unit,
  ...own
}: Pick<LogCheck, 'code' | 'rank' | 'sources' | 'why'> & { metric: string; most: number; unit: string }) =>
  logCheck({
    ...own,
    title: 'Sampler and trainer give a token the same log-prob',
    stage: 'logprob',
    level: 3,
    threshold: `mean gap at most ${most} ${unit} in the median; one entry alone only informs`,
    remedy:
      'Check ids, temperature and mode first; then use the same precision and kernels on both sides, or importance sampling.',
    consequence: { rerun: 'nothing', checkpointsVoid: false },
    induces: ['B54'],
    settles: 'The record of one step: the ids, the temperature, and both log-probs of each token.',
    needs: [metric],
    test(log) {
      const gaps = withoutNaN(log.column(metric));
      const measured = { entries: gaps.length, median: median(gaps) };
      return measured.median > most ? beyond(measured)(measured) : pass(measured);
    },
    ranges: () => [{ metric, high: most }],
    says: (m) => say`Sampler and trainer differ by ${m.median} ${unit}.`,
  });

export const b39: Fault = {
  code: 'B39',
  name: 'sampler gap',
  title: 'Sampler and trainer compute differently',
  checks: [
    stepCheck({
      code: 'B39.gap',
      title: 'Sampler and trainer give a token the same log-prob',
      stage: 'logprob',
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
        const measured = { mean: gap.mean, max: gap.max, tokens: gap.tokens, place: 0 };
        if (gap.mean <= tolerance.mean && gap.max <= tolerance.max) return pass(measured);
        const place = placeOfGap(record, firstPolicyLogprobs, comparableLogprobs, toleranceOf(record).max);
        return warn({ ...measured, place: place ?? 0 }, [placeOf(record, gap.worst)]);
      },
      says: (m) =>
        say`Sampler and trainer differ by ${m.mean} nat per token on average, ${m.max} at most.${behind(m.place)}`,
    }),
    stepCheck({
      code: 'B39.own',
      title: 'One engine gives a token one log-prob',
      stage: 'logprob',
      level: 3,
      rank: 5,
      threshold: `at the first update of a run of grpo that samples itself, in float32: largest |policy − sampler| ≤ ${NO_ROUNDING}`,
      why: 'Sampler and trainer have the same weights and the same number type there: healthy runs stay below 1e-3.',
      remedy:
        'Look at what decoding does otherwise than one pass over all tokens: its cache, its positions, its window; then at the temperature of both.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      proofs: ['native'],
      needs: ['firstPolicyLogprobs', 'comparableLogprobs'],
      test({ firstPolicyLogprobs, comparableLogprobs }, record) {
        const isOwn = record.producer.name === 'grpo' && !record.servers?.length && isFull(record);
        if (!isOwn || record.declared?.ownStages?.length)
          return notApplicable('a float32 run of grpo, whose own stages sample and score');
        const gap = compareFirst(record, firstPolicyLogprobs, comparableLogprobs);
        // B45.finite judges NaN.
        if (!(gap.max >= 0)) return notApplicable('numbers, in the sampled length');
        // Log-probs after truncation are higher everywhere: B19.processed names that.
        if (isTruncated(record) && -gap.signed > ALL_HIGHER * gap.mean)
          return notApplicable('log-probs that truncation does not explain');
        const measured = { max: gap.max, tokens: gap.tokens, place: 0 };
        if (gap.max <= NO_ROUNDING) return pass(measured);
        const place = placeOfGap(record, firstPolicyLogprobs, comparableLogprobs, toleranceOf(record).max);
        return fail({ ...measured, place: place ?? 0 }, [placeOf(record, gap.worst)]);
      },
      says: (m) =>
        say`Sampler and trainer differ by up to ${m.max} nat for one token, with the same weights in one engine.${behind(m.place)}`,
    }),
    gapCheck({
      code: 'B39.log',
      rank: 7,
      metric: 'sampling/sampling_logp_difference/mean',
      most: MOST_GAP,
      unit: 'nat per token',
      sources: ['huggingface/trl#3867', 'huggingface/trl#4772', 'inclusionAI/AReaL#1290'],
      why: 'Two engines usually differ by 0.01 to 0.1.',
    }),
    logCheck({
      code: 'B39.weight',
      title: 'Importance sampling leaves the gradient its size',
      stage: 'loss',
      level: 3,
      rank: 6,
      threshold: `mean of the importance weights at least ${LEAST_WEIGHT} in the median; one entry alone only informs`,
      sources: ['huggingface/trl#5312', 'NVIDIA-NeMo/RL#2269'],
      why: 'Trainer ÷ sampler probability has a mean of 1 where the sampler has the policy’s weights. A product over a long completion falls far below it by small differences of many tokens.',
      remedy:
        'Compare the weights of sampler and trainer: a sleeping or restarted engine may have loaded those of the disk. Where the gap per token is small, weigh tokens, not completions.',
      consequence: { rerun: 'GRPO', checkpointsVoid: false },
      induces: ['B39', 'B43'],
      settles:
        'Both log-probs of each token of one step, before and after the weights are sent to the sampler.',
      needs: ['sampling/importance_sampling_ratio/mean'],
      test(log) {
        const weights = withoutNaN(log.column('sampling/importance_sampling_ratio/mean'));
        const measured = { entries: weights.length, median: median(weights) };
        return measured.median < LEAST_WEIGHT ? beyond(measured)(measured) : pass(measured);
      },
      says: (m) =>
        say`The importance weights (trainer ÷ sampler probability) have a mean of ${m.median} (the median of the entries) in place of about 1: what is learnt is multiplied by it. The sampler has other weights than the policy, or many small gaps are multiplied over long completions.`,
    }),
    gapCheck({
      code: 'B39.kl',
      rank: 8,
      metric: 'sampling/kl',
      most: 0.02,
      unit: 'nat of KL per token',
      sources: [
        'NVIDIA-NeMo/RL#2260',
        'PrimeIntellect-ai/prime-rl#2671',
        'thinking-machines-lab/tinker-feedback#22',
        'sail-sg/Precision-RL#10',
      ],
      why: 'About 0.001 is usual; 0.01 is the limit that one system recommends, 0.03 at step 0 was called too large, and 0.15 to 1.75 was reported as a fault.',
    }),
    gapCheck({
      code: 'B39.probability',
      rank: 9,
      metric: 'sampling/probability_difference/mean',
      most: 0.02,
      unit: 'in the probability of a token',
      sources: ['verl-project/verl#3894', 'verl-project/verl#4162'],
      why: 'verl’s guide calls 0.005 usual. Its number compares with log-probs before the temperature where the engine gives those.',
    }),
  ],
};
