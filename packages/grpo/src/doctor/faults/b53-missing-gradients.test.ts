import { describe, expect, it } from 'vitest';
import { startOf, testLogCheck, testStepCheck, times } from '../planted.test.helper.js';
import { all, facts, judgeRun, recordsOf } from '../plants.test.helper.js';

const everyStep = { stepsPerEntry: 1 };

testLogCheck('B53.log', [
  {
    name: 'differences and no gradient',
    metrics: { frac_reward_zero_std: times(4, 0.25), grad_norm: times(4, 0) },
    series: everyStep,
    verdict: 'fail',
    measured: { dead: 4 },
  },
  {
    name: 'one step without',
    metrics: { frac_reward_zero_std: times(4, 0.25), grad_norm: [1, 0, 1, 1] },
    series: everyStep,
    verdict: 'warn',
    evidence: { step: 2 },
  },
  {
    name: 'what differed was masked',
    metrics: { frac_reward_zero_std: times(4, 0.25), grad_norm: times(4, 0) },
    declared: { objective: { maskTruncated: true } },
    verdict: 'warn',
  },
  {
    name: 'a correction left out what differed',
    metrics: { frac_reward_zero_std: [0.25], grad_norm: [0] },
    declared: { correction: { level: 'sequence', action: 'mask' } },
    verdict: 'warn',
  },
  {
    name: 'a threshold left out what differed',
    metrics: { frac_reward_zero_std: [0.25], grad_norm: [0] },
    declared: { objective: { offPolicyThreshold: 0.1 } },
    verdict: 'warn',
  },
  {
    name: 'a correction that moves weights to its bounds',
    metrics: { frac_reward_zero_std: [0.25], grad_norm: [0] },
    declared: { correction: { level: 'token', action: 'truncate' } },
    verdict: 'fail',
  },
  {
    name: 'averaged entries',
    metrics: { frac_reward_zero_std: times(4, 0.25), grad_norm: times(4, 0) },
    series: { stepsPerEntry: 10 },
    verdict: 'not applicable',
  },
  {
    name: 'an entry of unknown length in which all groups differ',
    metrics: { frac_reward_zero_std: [0], grad_norm: [0] },
    series: { stepsPerEntry: undefined },
    verdict: 'fail',
    measured: { entries: 1, dead: 1 },
  },
  {
    name: 'groups of averaged entries that all differ, and gradients',
    metrics: { frac_reward_zero_std: [0, 0.5, 0], grad_norm: [0.1, 0, 0.2] },
    series: { stepsPerEntry: 10 },
    verdict: 'pass',
    measured: { entries: 2 },
  },
  {
    name: 'deviations of averaged entries',
    metrics: { reward_std: times(4, 0.3), grad_norm: times(4, 0) },
    series: { rewardDeviation: 'groups', stepsPerEntry: 10 },
    verdict: 'not applicable',
  },
  {
    name: 'all was truncated, and who knows whether that is masked',
    metrics: {
      frac_reward_zero_std: times(4, 0.25),
      grad_norm: times(4, 0),
      'completions/clipped_ratio': times(4, 1),
    },
    series: everyStep,
    verdict: 'warn',
  },
  {
    name: 'all was truncated, and is trained on',
    metrics: {
      frac_reward_zero_std: times(4, 0.25),
      grad_norm: times(4, 0),
      'completions/clipped_ratio': times(4, 1),
    },
    declared: { objective: { maskTruncated: false } },
    verdict: 'fail',
  },
  {
    name: 'a gradient that is printed as 0.000',
    metrics: { frac_reward_zero_std: times(4, 0), grad_norm: times(4, 0) },
    series: { decimals: { grad_norm: 3 } },
    verdict: 'not applicable',
  },
  {
    name: 'no differences',
    metrics: { frac_reward_zero_std: times(4, 1), grad_norm: times(4, 0) },
    verdict: 'not applicable',
  },
  {
    name: 'reward_std over the batch tells nothing of groups',
    metrics: { reward_std: times(4, 0.3), grad_norm: times(4, 0) },
    series: { rewardDeviation: 'batch' },
    verdict: 'not applicable',
  },
  {
    name: 'reward_std over groups does',
    metrics: { reward_std: times(4, 0.3), grad_norm: times(4, 0) },
    series: { rewardDeviation: 'groups' },
    verdict: 'fail',
  },
]);

testStepCheck('B53.gradient', [
  { name: 'no gradient', plant: facts({ gradNorm: 0 }), verdict: 'fail', measured: { masked: true } },
  {
    name: 'no gradient, and nothing to learn',
    plant: all(facts({ gradNorm: 0 }), ({ advantages }) => void advantages!.fill(0)),
    verdict: 'not applicable',
  },
  {
    name: 'no gradient, and what rounding left of equal rewards',
    plant: all(facts({ gradNorm: 0 }), ({ advantages }) => void advantages!.fill(-5e-3)),
    verdict: 'not applicable',
  },
  {
    name: 'no gradient, and all that could teach is masked',
    plant: all(facts({ gradNorm: 0 }), (record) => void record.scored!.mask!.fill(0, startOf(record, 8))),
    verdict: 'not applicable',
  },
  {
    name: 'no gradient, and the mask is not known',
    plant: all(facts({ gradNorm: 0 }), ({ scored }) => void delete scored!.mask),
    verdict: 'fail',
    measured: { masked: false },
  },
  { name: 'a loss of 0 with a gradient', plant: facts({ loss: 0 }), verdict: 'pass' },
]);

testStepCheck('B53.zero', [
  { name: 'half of the tensors', into: { step: 5 }, plant: facts({ zeroGradients: 0.5 }), verdict: 'warn' },
  { name: 'half of them on step 1', plant: facts({ zeroGradients: 0.5 }), verdict: 'inform' },
  ...[
    { name: 'half of them on step 1 of fresh adapters', lora: { rank: 8 }, verdict: 'pass' as const },
    { name: 'on step 1 of loaded ones', lora: { rank: 8, adapter: 'a' }, verdict: 'inform' as const },
  ].map(({ name, lora, verdict }) => ({
    name,
    plant: all(facts({ zeroGradients: 0.5 }), ({ declared }) => void Object.assign(declared!, { lora })),
    verdict,
  })),
  { name: 'nearly all on step 1', plant: facts({ zeroGradients: 0.9 }), verdict: 'warn' },
]);

testStepCheck('B53.merged', [
  {
    name: 'adapters in the weights',
    plant({ probes }) {
      probes!.merged = true;
    },
    verdict: 'fail',
  },
  { name: 'adapters beside them', plant: () => {}, verdict: 'pass' },
]);

testStepCheck('B53.added', [
  {
    name: 'a token of the prompt that no checkpoint has',
    plant({ probes }) {
      probes!.added = [{ token: '<calc>', id: 300, trained: false }];
    },
    verdict: 'warn',
    measured: { tokens: 1, token: '<calc>', frozen: true },
    evidence: { text: '<calc>' },
  },
  { name: 'tokens that the model was loaded with', plant: () => {}, verdict: 'pass' },
]);

testStepCheck('B53.left-out', [
  {
    name: 'embeddings and head without a group',
    plant({ probes }) {
      probes!.leftOut = ['embed', 'head'];
    },
    verdict: 'warn',
    measured: { tensors: 2, names: 'embed, head' },
  },
  { name: 'none', plant: () => {}, verdict: 'pass' },
]);

describe('B53.frozen', () => {
  const trained = (counts: Readonly<Record<number, number>>) =>
    judgeRun(
      'B53.frozen',
      recordsOf(Object.keys(counts).map(Number), ({ probes }, step) => {
        probes!.trainable = counts[step]!;
      }),
    );
  it('names the step from which fewer tensors are trained than at the start', () => {
    expect(trained({ 1: 38, 2: 38, 10: 2, 20: 2 })).toMatchObject({
      severity: 'warn',
      measured: { first: 38, now: 2, step: 10 },
    });
  });
  it('leaves as many, or more, alone', () => {
    expect(trained({ 1: 2, 2: 2, 10: 38 })).toMatchObject({ verdict: 'pass' });
    expect(trained({ 1: 2 })).toMatchObject({ verdict: 'not applicable' });
  });
});
