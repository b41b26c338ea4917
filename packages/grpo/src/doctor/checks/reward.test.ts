import type { StepRecord } from '../../trace/index.js';
import { testStepCheck } from '../planted.test.helper.js';

const all =
  (value: number) =>
  ({ rewards }: StepRecord) => {
    rewards!.values!.fill(value);
    rewards!.totals!.fill(value);
  };

/** A KL that is taken from the rewards: of two equal completions it differs by rounding. */
const penalized = ({ declared, rewards }: StepRecord) => {
  declared!.klPlace = 'reward';
  const penalties = rewards!.totals!.map((_, b) => 0.1 + 1e-7 * (b % 5));
  rewards!.names = ['right', 'kl_penalty'];
  rewards!.weights = [1, -1];
  rewards!.values = Float64Array.from([...rewards!.values!, ...penalties]);
  rewards!.totals = rewards!.totals!.map((total, b) => total - penalties[b]!);
};

testStepCheck('B20.constant', [
  {
    name: 'a fallback for everything, and a KL',
    plant: (record) => {
      all(0.5)(record);
      penalized(record);
    },
    verdict: 'warn',
    measured: { value: 0.5 },
  },
  { name: 'a fallback for everything', plant: all(0.5), verdict: 'warn', measured: { value: 0.5 } },
  {
    name: 'a fallback for message lists',
    plant: (record) => {
      all(0.5)(record);
      record.rewards!.inputType = 'messages';
    },
    verdict: 'warn',
    measured: { inputType: 'messages' },
  },
  { name: 'a sparse reward that nobody got', plant: all(0), verdict: 'inform', measured: { natural: true } },
  { name: 'a learnt task', plant: all(1), verdict: 'inform' },
  {
    name: 'a learnt task with two rewards of weight 0.5 and 1',
    plant: (record) => {
      all(1)(record);
      record.rewards!.totals!.fill(1.5);
    },
    verdict: 'inform',
  },
  {
    name: 'one text for all',
    plant: (record) => {
      all(0.5)(record);
      record.completions!.texts!.fill('same');
    },
    verdict: 'not applicable',
  },
  { name: 'no reward at all', plant: all(Number.NaN), verdict: 'not applicable' },
]);

testStepCheck('B21.totals', [
  {
    name: 'one value broadcast',
    plant: ({ rewards }) => void rewards!.totals!.fill(0.9),
    verdict: 'fail',
    evidence: { completion: 0, values: { total: 0.9, sum: 0.5 } },
  },
  {
    name: 'one function had nothing to say',
    plant: ({ rewards }) => {
      rewards!.names = ['right', 'form'];
      rewards!.weights = [1, 2];
      rewards!.values = Float64Array.from([...rewards!.values!, ...rewards!.values!.map(() => Number.NaN)]);
    },
    verdict: 'pass',
  },
  {
    name: 'float32 sums',
    plant: ({ rewards }) => {
      rewards!.totals = rewards!.totals!.map(Math.fround);
    },
    verdict: 'pass',
  },
]);

testStepCheck('B21.alike', [
  { name: 'a KL in the rewards', plant: penalized, verdict: 'pass' },
  {
    name: 'equal completions with other rewards',
    plant: ({ rewards }) => {
      rewards!.totals = rewards!.totals!.map((_, b) => b / 10);
    },
    verdict: 'warn',
    evidence: { completion: 1, values: { equals: 0 } },
  },
  {
    name: 'a judge that wavers once',
    plant: ({ rewards }) => {
      rewards!.totals![3] = 0.6;
    },
    verdict: 'pass',
  },
]);

testStepCheck('B22.failures', [
  {
    name: 'one completion of 24',
    plant: ({ rewards }) => {
      rewards!.failures = [{ reward: 'right', completion: 5, reason: 'time-out' }];
    },
    verdict: 'inform',
    evidence: { completion: 5, text: 'time-out', values: { reward: 'right' } },
  },
  {
    name: 'a function that failed as a whole',
    plant: ({ rewards }) => {
      rewards!.failures = [{ reward: 'right', completion: null, reason: 'no answer' }];
    },
    verdict: 'warn',
  },
]);

testStepCheck('B22.fallback', [
  {
    name: 'half of the values',
    plant: ({ rewards }) => {
      rewards!.fallbacks = [-0.5];
      rewards!.values!.fill(-0.5, 0, 12);
    },
    verdict: 'warn',
    evidence: { text: 'right', values: { value: -0.5 } },
  },
  {
    name: 'a fallback of 0 beside honest zeros',
    plant: ({ rewards }) => {
      rewards!.fallbacks = [0];
      rewards!.values!.fill(0, 0, 12);
    },
    verdict: 'inform',
  },
]);

testStepCheck('B24.provider', [
  {
    name: 'two judges in a group',
    plant: ({ rewards }) => {
      rewards!.providers![9] = 'other';
    },
    verdict: 'warn',
    evidence: { prompt: 2, text: 'judge, other' },
  },
  {
    name: 'two judges, each for groups of its own',
    plant: ({ rewards }) => {
      rewards!.providers!.fill('other', 8, 12);
    },
    verdict: 'pass',
  },
]);
