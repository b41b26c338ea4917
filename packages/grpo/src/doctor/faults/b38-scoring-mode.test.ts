import type { StepRecord } from '../../trace/index.js';
import { testLogCheck, testStepCheck, times } from '../planted.test.helper.js';
import { all, declare, half, maskedGarbage, off } from '../plants.test.helper.js';

const reference = 'sequence_logprob_reference';

testLogCheck('B38.likelihood', [
  {
    name: 'less likely than under the reference',
    metrics: { sequence_logprob: [-440], [reference]: [-45] },
    verdict: 'warn',
    evidence: { step: 1 },
  },
  { name: 'alike', metrics: { sequence_logprob: [-47], [reference]: [-45] }, verdict: 'pass' },
  {
    name: 'estimates of a masked-diffusion model',
    metrics: { sequence_logprob: [-440], [reference]: [-45], masked_positions: [40] },
    verdict: 'not applicable',
  },
]);

testLogCheck('B38.log', [
  { name: 'negative in the one entry', metrics: { kl: [-0.3] }, verdict: 'inform' },
  {
    name: 'negative throughout, but for its beginning',
    metrics: { kl: times(10, (i) => (i === 0 ? 0 : -4 - (i % 3))) },
    verdict: 'warn',
    evidence: { step: 2, values: { kl: -5 } },
  },
  {
    name: 'estimates, as the log says',
    metrics: { kl: times(10, -4), masked_positions: times(10, 40) },
    verdict: 'not applicable',
  },
  {
    name: 'estimates, as the run declares',
    metrics: { kl: times(10, -4) },
    declared: { diffusion: { estimator: 'd1' } },
    verdict: 'not applicable',
  },
  { name: 'k1 around 0', metrics: { kl: times(10, (i) => 0.02 * ((i % 3) - 1)) }, verdict: 'pass' },
]);

testLogCheck('B38.constant', [
  { name: 'large, and does not move', metrics: { kl: times(10, 11) }, firstStep: 10, verdict: 'warn' },
  {
    name: 'large, and ends where it began',
    metrics: { kl: [5.2, 5.1, 6.7, 6.2, 8.5, 5.6, 7.2, 5.7, 5.6, 5.5] },
    firstStep: 10,
    verdict: 'pass',
  },
  { name: 'large, and moves', metrics: { kl: times(10, (i) => 1.5 + i) }, firstStep: 10, verdict: 'pass' },
  { name: 'step 1 is there', metrics: { kl: times(10, 11) }, verdict: 'not applicable' },
]);

testStepCheck('B38.repeat', [
  {
    name: 'dropout',
    plant: ({ probes }) => {
      probes!.repeatedScoring!.max = 0.3;
    },
    verdict: 'fail',
  },
  {
    name: 'NaN',
    plant: ({ probes }) => {
      probes!.repeatedScoring!.max = Number.NaN;
    },
    verdict: 'fail',
  },
  {
    name: 'a sum in another order',
    plant: ({ probes }) => {
      probes!.repeatedScoring!.max = 2e-5;
    },
    verdict: 'pass',
  },
  {
    name: 'no token',
    plant: ({ probes }) => {
      probes!.repeatedScoring!.tokens = 0;
    },
    verdict: 'not applicable',
  },
]);

testStepCheck('B38.dropout', [
  {
    name: 'a module that drops',
    plant: ({ declared }) => void declared!.activeDropout!.push('layer.0.drop'),
    verdict: 'warn',
    measured: { first: 'layer.0.drop' },
  },
]);

testStepCheck('B38.reference', [
  {
    name: 'another temperature in the reference alone',
    plant: ({ scored }) => {
      scored!.referenceLogprobs = scored!.referenceLogprobs!.map((value) => 0.7 * value);
    },
    verdict: 'fail',
    measured: { side: 'reference' },
  },
  {
    name: 'other weights',
    plant: ({ scored, probes }) => {
      scored!.referenceLogprobs = scored!.referenceLogprobs!.map((value) => 0.7 * value);
      probes!.checksums!.policy = 8;
    },
    verdict: 'not applicable',
  },
  {
    name: 'no checksums',
    plant: ({ probes }) => {
      delete probes!.checksums;
    },
    verdict: 'not applicable',
  },
]);

testStepCheck('B38.policy', [
  { name: 'the policy alone is off', plant: off(0.5), verdict: 'fail' },
  {
    name: 'reference and policy are off alike: not the mode',
    plant: all(off(0.5), ({ scored, updates }) => {
      scored!.referenceLogprobs = updates![0]!.policyLogprobs!.slice();
    }),
    verdict: 'not applicable',
  },
  { name: 'a later step', into: { step: 5 }, plant: off(0.5), verdict: 'not applicable' },
  { name: 'masked completions', plant: maskedGarbage, verdict: 'pass' },
]);

testLogCheck('B38.first', [
  { name: 'ratios of a first update', metrics: { 'ratio/first': times(12, 1) }, verdict: 'pass' },
  {
    name: 'ratios of two scorings with dropout',
    metrics: { 'ratio/first': times(12, (i) => 0.97 + (i % 4) / 50) },
    verdict: 'fail',
    measured: { name: 'ratio/first' },
  },
  {
    name: 'a first update that clips',
    metrics: { 'clip_ratio/first': times(12, 0.2), 'clip_ratio/region_mean': times(12, 0.3) },
    verdict: 'fail',
    measured: { name: 'clip_ratio/first' },
  },
  {
    name: 'another temperature, at a KL of 0',
    metrics: { 'ratio/mean': times(12, 0.96), kl: times(12, (i) => i / 1000) },
    series: { producer: { name: 'unknown' } },
    verdict: 'warn',
    measured: { name: 'ratio/mean', isKlZero: true },
  },
  {
    name: 'the mean of several updates, at a KL that was measured before them',
    metrics: { 'ratio/mean': times(12, 0.99), kl: times(12, (i) => i / 1000) },
    series: { producer: { name: 'unknown' } },
    verdict: 'pass',
  },
  {
    name: 'a KL that nobody measures',
    metrics: { 'ratio/mean': times(12, 0.96), kl: times(12, 0) },
    series: { producer: { name: 'unknown' } },
    verdict: 'not applicable',
  },
  {
    name: 'the one update of each rollout that clips',
    metrics: { 'ratio/mean': times(12, 1.001), 'clip_ratio/region_mean': times(12, 0.1) },
    declared: { updatesPerRollout: 1 },
    series: { producer: { name: 'unknown' } },
    verdict: 'warn',
    measured: { name: 'clip_ratio/region_mean', isOnly: true },
  },
  {
    name: 'only later updates that clip',
    metrics: { 'clip_ratio/first': times(12, 0), 'clip_ratio/region_mean': times(12, 0.3) },
    verdict: 'pass',
  },
  {
    name: 'a ratio other than 1 while the learning rate is 0',
    metrics: { 'ratio/mean': [0.84, 0.87, 0.93, 0.9], learning_rate: [0, 0, 1e-6, 1e-6] },
    verdict: 'fail',
    measured: { entries: 2, off: 2, value: 0.84 },
    evidence: { step: 1 },
  },
  {
    name: 'a ratio of 1 while the learning rate is 0, and others later',
    metrics: { 'ratio/mean': [1, 1.0001, 0.93, 0.9], learning_rate: [0, 0, 1e-6, 1e-6] },
    verdict: 'pass',
  },
  {
    name: 'a learning rate above 0 from the start',
    metrics: { 'ratio/mean': [0.84, 0.87], learning_rate: [1e-6, 0] },
    verdict: 'not applicable',
  },
]);

/** Old log-probs of the trainer's own: not those of the sampler. */
const own = (by: (token: number) => number) => (record: StepRecord) => {
  record.scored!.oldLogprobs = record.updates![0]!.policyLogprobs!.map((value, t) => value + by(t));
};

testStepCheck('B38.old', [
  { name: 'scored with dropout', plant: own((t) => (t % 2 ? 0.1 : -0.2)), verdict: 'fail' },
  { name: 'rounded otherwise', plant: own((t) => (t % 2 ? 1e-6 : -1e-6)), verdict: 'pass' },
  {
    name: 'those of the sampler, which differ: B39',
    plant: (record) => {
      own((t) => (t % 2 ? 0.1 : -0.2))(record);
      record.completions!.samplerLogprobs = record.scored!.oldLogprobs!.slice();
    },
    verdict: 'not applicable',
  },
  {
    name: 'those of the sampler, rounded to half precision',
    plant: all(half, (record) => {
      own((t) => (t % 2 ? 0.1 : -0.2))(record);
      const rounded = (value: number) => value * (1 + 2 ** -9);
      record.completions!.samplerLogprobs = record.scored!.oldLogprobs!.map(rounded);
    }),
    verdict: 'not applicable',
  },
  {
    name: 'those of the sampler by declaration',
    plant: all(
      own((t) => (t % 2 ? 0.1 : -0.2)),
      declare({ objective: { oldLogprobs: 'sampler' } }),
    ),
    verdict: 'not applicable',
  },
]);

testLogCheck('B38.entropy', [
  { name: 'as good as random tokens', metrics: { entropy: [6.35, 6.37, 6.34] }, verdict: 'warn' },
  { name: 'a sum over tokens', metrics: { entropy: [6721, 6531, 7145] }, verdict: 'not applicable' },
  { name: 'high at first', metrics: { entropy: [6.35, 4.2, 2.1] }, verdict: 'pass' },
  { name: 'two entries', metrics: { entropy: [6.35, 6.37] }, verdict: 'not applicable' },
  { name: 'two, one of noise', metrics: { entropy: [9.49, 6.35] }, verdict: 'not applicable' },
  { name: 'one of noise', metrics: { entropy: [9.49] }, verdict: 'warn' },
  {
    name: 'of a tiny model of ours',
    metrics: { entropy: [6.35, 6.37, 6.34] },
    series: { producer: { name: 'grpo' } },
    verdict: 'not applicable',
  },
  {
    name: 'of step records',
    metrics: { entropy: [6.35, 6.37, 6.34] },
    series: { producer: { name: 'step records' } },
    verdict: 'not applicable',
  },
  {
    name: 'of masked places',
    metrics: { entropy: [6.35, 6.37, 6.34], masked_positions: [9, 9, 9] },
    verdict: 'not applicable',
  },
]);
