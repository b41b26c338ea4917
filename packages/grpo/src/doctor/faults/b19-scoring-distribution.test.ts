import type { StepRecord } from '../../trace/index.js';
import { change, startOf, testStepCheck } from '../planted.test.helper.js';
import { offPlainly } from '../plants.test.helper.js';
import { numbers } from '../record.test.helper.js';

/** A policy that is nearly certain of every token, and right. */
function certain(record: StepRecord): void {
  change(record, 'policyLogprobs', () => Math.log(1 - 1e-4));
  change(record, 'entropies', () => -(1 - 1e-4) * Math.log(1 - 1e-4) - 1e-4 * Math.log(1e-4));
}

const temperatures =
  (own: number, other: number) =>
  ({ probes }: StepRecord) => {
    const random = numbers(1);
    probes!.temperatures = [
      { temperature: 1, mean: own, max: own + random(), tokens: 50 },
      { temperature: 0.7, mean: other, max: 1, tokens: 50 },
    ];
  };

testStepCheck('B19.surprise', [
  {
    name: 'tokens less likely than the entropy says',
    plant: (record) => change(record, 'policyLogprobs', (value) => value - 0.5),
    verdict: 'warn',
    measured: { flatter: true },
  },
  {
    name: 'tokens likelier',
    plant: (record) => change(record, 'policyLogprobs', (value) => value * 0.3),
    verdict: 'warn',
    measured: { flatter: false },
  },
  {
    name: 'tokens likelier, as a declared top-p makes them',
    plant: (record) => {
      record.declared!.rollout!.topP = 0.9;
      change(record, 'policyLogprobs', (value) => value * 0.3);
    },
    verdict: 'inform',
  },
  {
    name: 'a policy that is nearly certain, and has not been wrong in this sample',
    plant: certain,
    verdict: 'pass',
  },
  {
    name: 'a nearly certain policy with one rare token',
    plant: (record) => {
      certain(record);
      record.updates![0]!.policyLogprobs![40] = Math.log(1e-4);
    },
    verdict: 'pass',
  },
  {
    name: 'masked tokens that were scored without attention',
    plant: (record) => {
      const start = startOf(record, 20);
      record.scored!.mask!.fill(0, start);
      record.updates![0]!.policyLogprobs!.fill(-30, start);
    },
    verdict: 'pass',
  },
  {
    name: 'tool tokens without a mask',
    plant: (record) => {
      delete record.scored!.mask;
      record.completions!.source![60] = 1;
    },
    verdict: 'not applicable',
  },
]);

testStepCheck('B19.truncation', [
  {
    name: 'a third of the probability cut off',
    plant: ({ completions }) => {
      completions!.sampledLogprobs = completions!.samplerLogprobs!.map((value) => value + 0.4);
    },
    verdict: 'warn',
  },
  {
    name: 'tool tokens without log-probs',
    plant: ({ completions }) => {
      completions!.sampledLogprobs = completions!.samplerLogprobs!.map((value, i) =>
        i % 5 ? value + 0.4 : Number.NaN,
      );
    },
    verdict: 'warn',
  },
]);

testStepCheck('B19.temperature', [
  {
    name: 'scored at another temperature',
    plant: temperatures(0.3, 1e-6),
    verdict: 'fail',
    measured: { fits: 0.7 },
  },
  { name: 'agrees at none: not the temperature', plant: temperatures(0.3, 0.2), verdict: 'not applicable' },
]);

testStepCheck('B19.scoring', [
  {
    name: 'scored at another',
    plant: offPlainly('policy', 0.3, 1e-6, 3),
    verdict: 'fail',
    measured: { fits: 0.7 },
  },
  { name: 'fits none', plant: offPlainly('policy', 0.3, 0.2, 3), verdict: 'not applicable' },
]);
