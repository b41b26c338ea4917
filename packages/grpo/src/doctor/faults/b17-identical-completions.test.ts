import { expect } from 'vitest';
import { rowsOf, type StepRecord } from '../../trace/index.js';
import { startOf, testLogCheck, testStepCheck } from '../planted.test.helper.js';

/** Makes a completion the twin of the one before it. */
function twin({ completions }: StepRecord, completion: number): void {
  const doubled = <A extends Int32Array | Float32Array>(values: A): A[] =>
    rowsOf(values, completions!.lengths!).map((row, b, rows) => (b === completion ? rows[b - 1]! : row));
  const ids = doubled(completions!.ids!);
  // Unlikely enough to be no accident.
  for (const key of ['samplerLogprobs', 'sampledLogprobs'] as const)
    completions![key] = Float32Array.from(
      doubled(completions![key]!.map((value) => 3 * value)).flatMap((row) => [...row]),
    );
  completions!.ids = Int32Array.from(ids.flatMap((row) => [...row]));
  completions!.lengths = Int32Array.from(ids, (row) => row.length);
}

const allAlike = (entropy: number) => (record: StepRecord) => {
  const { completions } = record;
  completions!.ids!.fill(5);
  completions!.lengths!.fill(20);
  completions!.ids = new Int32Array(480).fill(5);
  record.scored = { lengths: new Int32Array(24).fill(20) };
  record.updates = [{ entropies: new Float32Array(480).fill(entropy) }];
};

testStepCheck('B17.draws', [
  {
    name: 'a long completion twice',
    plant: (record) => twin(record, 9),
    verdict: 'fail',
    evidence: { completion: 9, values: { equals: 8 } },
  },
  {
    name: 'a long completion twice, in greedy decoding',
    plant: (record) => {
      twin(record, 9);
      record.declared!.rollout!.temperature = 0;
    },
    verdict: 'not applicable',
  },
  {
    name: 'the rest of an equal completion was not drawn',
    plant: (record) => {
      twin(record, 9);
      const start = startOf(record, 8);
      record.completions!.sampledLogprobs!.fill(
        Number.NaN,
        start + 5,
        start + 2 * record.completions!.lengths![8]!,
      );
    },
    verdict: 'pass',
  },
]);

testStepCheck('B17.unique', [
  {
    name: 'alike at high entropy: the sampler',
    plant: allAlike(2),
    verdict: 'warn',
    measured: { entropy: 40, alike: 6 },
  },
  {
    name: 'alike at low entropy: a learnt task',
    plant: allAlike(0.01),
    verdict: 'inform',
    evidence: { prompt: 0 },
    measured: { repeated: expect.closeTo(0.2) },
  },
  {
    name: 'alike, and no entropy is known',
    plant: (record) => {
      allAlike(1)(record);
      delete record.updates;
    },
    verdict: 'inform',
  },
]);

testLogCheck('B17.log', [
  {
    name: 'in most entries',
    metrics: { identical_groups: [1, 2, undefined, 1] },
    verdict: 'inform',
    measured: { alike: 3 },
  },
  { name: 'once', metrics: { identical_groups: [1, 0, 0, 0] }, verdict: 'pass' },
]);

const alike = (more: object = {}) => ({
  'completions/min_length': [29, 29],
  'completions/max_length': [29, 29],
  frac_reward_zero_std: [1, 1],
  reward: [0.8, 0.8],
  ...more,
});

testLogCheck('B17.lengths', [
  {
    name: 'one length and equal rewards',
    metrics: alike(),
    verdict: 'warn',
    measured: { alike: 2, tokens: 29 },
  },
  { name: 'the same, all right', metrics: alike({ reward: [1, 1] }), verdict: 'inform' },
  { name: 'rewards that differ', metrics: alike({ frac_reward_zero_std: [0.5, 0.5] }), verdict: 'pass' },
  { name: 'all cut at the limit', metrics: alike({ 'completions/clipped_ratio': [1, 1] }), verdict: 'pass' },
  {
    name: 'a word',
    metrics: alike({ 'completions/min_length': [2, 2], 'completions/max_length': [2, 2] }),
    verdict: 'pass',
  },
  { name: 'lengths that differ', metrics: alike({ 'completions/min_length': [20, 21] }), verdict: 'pass' },
]);

testStepCheck('B17.reseeded', [
  {
    name: 'a seed that a reward sets',
    plant: ({ probes }) => {
      probes!.reseeded = true;
    },
    verdict: 'warn',
  },
  { name: 'numbers that go on', plant: () => {}, verdict: 'pass' },
]);

testStepCheck('B17.greedy', [
  {
    name: 'a sampler that takes the likeliest',
    plant({ probes }) {
      probes!.greedy = true;
    },
    verdict: 'warn',
  },
  {
    name: 'a search of beams',
    plant({ probes }) {
      probes!.beams = 4;
    },
    verdict: 'warn',
    measured: { beams: 4 },
  },
  { name: 'one that samples', plant: () => {}, verdict: 'pass' },
]);
