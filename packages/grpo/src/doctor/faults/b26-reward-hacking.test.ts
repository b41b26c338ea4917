import { testLogCheck, testStepCheck, times } from '../planted.test.helper.js';
import { onRows } from '../plants.test.helper.js';

testStepCheck('B26.canary', [
  {
    name: 'an empty answer is paid',
    plant: onRows('empty', 9, { value: 1.1 }),
    verdict: 'warn',
    evidence: { text: 'empty' },
    measured: { kinds: 'empty' },
  },
  {
    name: 'on one row of eight, as by accident',
    plant: ({ probes }) => {
      const more = probes!.canaries!.map((canary) => ({ ...canary, row: 4 + canary.row! }));
      probes!.canaries!.push(...more);
      probes!.canaries![1]!.value = 1.1;
    },
    verdict: 'pass',
  },
  {
    name: 'an empty answer has no value',
    plant: onRows('empty', 9, { value: null }),
    verdict: 'not applicable',
  },
]);

testLogCheck('B26.log', [
  {
    name: 'form up, answers down',
    metrics: {
      reward: times(60, (i) => i + (i % 2)),
      'rewards/accuracy/mean': times(60, (i) => -i + (i % 3)),
    },
    verdict: 'warn',
    evidence: { text: 'accuracy' },
  },
  {
    name: 'both up',
    metrics: { reward: times(60, (i) => i + (i % 2)), 'rewards/accuracy/mean': times(60, (i) => i) },
    verdict: 'pass',
  },
]);

const noisy = (level: (i: number) => number) => times(120, (i) => level(i) + 0.01 * ((i * 7) % 5));
const form = noisy((i) => Math.min(1, i / 30));

testLogCheck('B26.other', [
  {
    name: 'form up, answers where they were',
    metrics: {
      reward: form.map((value) => value + 0.2),
      'rewards/format/mean': form,
      'rewards/accuracy/mean': noisy(() => 0.2),
    },
    verdict: 'warn',
    evidence: { text: 'format' },
    measured: { by: 'format', answers: 'accuracy' },
  },
  {
    name: 'answers up, too',
    metrics: {
      reward: form.map((value) => 1.5 * value),
      'rewards/format/mean': form,
      'rewards/accuracy/mean': form.map((value) => value / 2),
    },
    verdict: 'pass',
  },
  {
    name: 'answers that are known already',
    metrics: {
      reward: form.map((value) => value + 0.9),
      'rewards/format/mean': form,
      'rewards/accuracy/mean': noisy(() => 0.9),
    },
    verdict: 'pass',
  },
]);
