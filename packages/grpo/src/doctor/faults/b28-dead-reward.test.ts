import { testLogCheck, testStepCheck, times } from '../planted.test.helper.js';

testLogCheck('B28.log', [
  {
    name: 'a format that never pays',
    metrics: {
      reward: times(25, (i) => i / 25),
      'rewards/strict/mean': times(25, 0),
      'rewards/strict/std': times(25, 0),
    },
    verdict: 'inform',
    measured: { names: 'strict' },
  },
  {
    name: 'two that never pay where nothing is learnt, in five entries of five steps',
    metrics: {
      reward: [0.1, 0.2, 0.1, 0.2, 0.1],
      'rewards/answer/mean': [0.1, 0.2, 0.1, 0.2, 0.1],
      'rewards/strict/mean': times(5, 0),
      'rewards/soft/mean': times(5, 0),
    },
    series: { stepsPerEntry: 5 },
    verdict: 'warn',
    measured: { names: 'strict, soft', steps: 25 },
  },
  {
    name: 'one that pays once',
    metrics: { reward: times(25, 0.1), 'rewards/strict/mean': times(25, (i) => (i === 24 ? 0.1 : 0)) },
    verdict: 'pass',
  },
  {
    name: 'a reward that all earn',
    metrics: { reward: times(25, 1), 'rewards/form/mean': times(25, 1) },
    verdict: 'pass',
  },
  {
    name: 'a penalty that nobody pays',
    metrics: { reward: times(25, 1), 'rewards/overlong_penalty/mean': times(25, 0) },
    verdict: 'pass',
  },
  {
    name: 'a penalty that all pay',
    metrics: { reward: times(25, 1), 'rewards/overlong_penalty/mean': times(25, -1) },
    verdict: 'warn',
  },
]);

const answers = (answer: (i: number) => number) => ({
  'rewards/accuracy_reward/mean': times(60, answer),
  'rewards/format_reward/mean': times(60, (i) => 0.75 + i / 300),
});

testLogCheck('B28.chance', [
  {
    name: 'answers that are right by chance',
    metrics: answers((i) => (i % 10 ? 0 : 0.06)),
    verdict: 'warn',
    measured: { hits: 6 },
  },
  {
    name: 'hard problems of which more are solved',
    metrics: answers((i) => (i > 45 ? 0.06 : 0)),
    verdict: 'pass',
  },
  { name: 'answers that are right at times', metrics: answers((i) => (i % 2 ? 0 : 0.2)), verdict: 'pass' },
  {
    name: 'a format that is not learnt either',
    metrics: { ...answers(() => 0), 'rewards/format_reward/mean': times(60, 0.3) },
    verdict: 'not applicable',
  },
]);

testLogCheck('B28.few', [
  {
    name: 'a format that never paid in three entries',
    metrics: {
      reward: [1.1, 1.4, 1.3],
      'rewards/format/mean': times(3, 0),
      'rewards/accuracy/mean': [0.3, 0.4, 0.4],
    },
    verdict: 'inform',
    evidence: { text: 'rewards/format/mean' },
    measured: { what: 'format is 0' },
  },
  {
    name: 'a fallback for every completion',
    metrics: {
      reward: [1, 2, 1],
      'rewards/format/mean': [0.5, 1.5, 0.5],
      'rewards/accuracy/mean': times(3, 0.5),
    },
    verdict: 'inform',
  },
  {
    name: 'a penalty of 0, and a format that all have',
    metrics: {
      reward: [1, 2, 1],
      'rewards/repetition_penalty/mean': times(3, 0),
      'rewards/format/mean': times(3, 1),
      'rewards/accuracy/mean': [0, 1, 0],
    },
    verdict: 'pass',
  },
  {
    name: 'nothing that varies',
    metrics: {
      reward: times(3, 0),
      'rewards/format/mean': times(3, 0),
      'rewards/accuracy/mean': times(3, 0),
    },
    verdict: 'pass',
  },
]);

testLogCheck('B28.nothing', [
  { name: 'in one entry', metrics: { reward: [0] }, verdict: 'inform', measured: { entries: 1, zeros: 1 } },
  {
    name: 'in all but the first',
    metrics: { reward: [0.0005, 0, 0, 0] },
    verdict: 'inform',
    evidence: { step: 2 },
    measured: { entries: 4, zeros: 3 },
  },
  { name: 'in half of them', metrics: { reward: [0.1, 0, 0.2, 0] }, verdict: 'pass' },
  { name: 'with penalties, whose sum may be 0', metrics: { reward: [-0.4, 0, 0, 0] }, verdict: 'pass' },
  { name: 'of rewards that differ', metrics: { reward: [0, 0], reward_std: [0.5, 0] }, verdict: 'pass' },
  {
    name: 'in print with two decimals',
    metrics: { reward: [0.01, 0, 0, 0] },
    series: { decimals: { reward: 2 } },
    verdict: 'pass',
  },
  {
    name: 'where the log counts flat groups',
    metrics: { reward: [0, 0, 0], frac_reward_zero_std: [1, 1, 1] },
    verdict: 'not applicable',
  },
  { name: 'in twenty steps', metrics: { reward: times(20, 0) }, verdict: 'not applicable' },
]);

testStepCheck('B28.head', [
  {
    name: 'a language model',
    plant({ probes }) {
      probes!.headless = ['llama'];
    },
    verdict: 'warn',
    measured: { names: 'llama' },
  },
  { name: 'reward models, or none', plant: () => {}, verdict: 'pass' },
]);
