import { testStepCheck } from '../planted.test.helper.js';

testStepCheck('B66.version', [
  { name: 'one version', plant: () => {}, verdict: 'pass', measured: { completions: 24 } },
  {
    name: 'an answer of the weights before',
    plant: ({ completions }) => {
      completions!.weightVersions![9] = 'step-1';
    },
    verdict: 'fail',
    measured: { others: 1, other: 'step-1', expected: 'step-2' },
    evidence: { completion: 9 },
  },
  {
    name: 'one version in all, which is not the one that was handed over',
    plant: ({ completions }) => {
      completions!.weightVersions!.fill('step-1');
    },
    verdict: 'fail',
    measured: { others: 24 },
  },
  {
    name: 'a group of an earlier step',
    plant: ({ prompts, completions }) => {
      prompts!.replayed = Int32Array.from(prompts!.lengths!, (_, p) => (p === 2 ? 1 : 0));
      completions!.weightVersions!.fill('step-1', 8, 12);
    },
    verdict: 'pass',
    measured: { completions: 20 },
  },
]);
