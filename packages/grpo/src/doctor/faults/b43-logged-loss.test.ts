import { expect } from 'vitest';
import type { Declared } from '../../trace/index.js';
import { testLogCheck, testStepCheck, times } from '../planted.test.helper.js';
import { declare, losses } from '../plants.test.helper.js';

const onPolicy: Declared = { objective: { loss: 'grpo' }, kl: { beta: 0.1 }, updatesPerRollout: 1 };

testLogCheck('B43.loss-log', [
  {
    name: 'another loss',
    metrics: { loss: times(6, -0.4), kl: times(6, 0.2) },
    declared: onPolicy,
    verdict: 'warn',
    evidence: { step: 1, text: 'loss' },
  },
  {
    name: 'β × KL, but for lengths',
    metrics: { loss: times(6, 0.017), kl: times(6, 0.2) },
    declared: onPolicy,
    verdict: 'pass',
  },
  {
    name: 'tokens count alike',
    metrics: { loss: times(6, -0.4), kl: times(6, 0.2) },
    declared: { ...onPolicy, objective: { ...onPolicy.objective, loss: 'dapo' } },
    verdict: 'not applicable',
  },
  {
    name: 'a β that is warmed up',
    metrics: {
      loss: times(6, (i) => i * 0.02 * 0.2),
      kl: times(6, 0.2),
      beta: times(6, (i) => i * 0.02),
    },
    declared: onPolicy,
    verdict: 'pass',
  },
  {
    name: 'a KL in the reward',
    metrics: { loss: times(6, 0), kl: times(6, 0.2), beta: times(6, 0.1) },
    declared: { ...onPolicy, kl: { ...onPolicy.kl, place: 'reward' } },
    verdict: 'pass',
  },
  {
    name: 'another loss of sequences',
    metrics: { loss: times(6, -0.4), kl: times(6, 0.2) },
    declared: {
      ...onPolicy,
      objective: {
        ...onPolicy.objective,
        loss: 'gspo',
        policy: 'clip',
        ratio: 'sequence',
        aggregation: 'sequence_mean',
      },
    },
    verdict: 'warn',
  },
  {
    name: 'advantages without a baseline',
    metrics: { loss: times(6, -0.4), kl: times(6, 0.2) },
    declared: { ...onPolicy, advantage: { ...onPolicy.advantage, baseline: 'none' } },
    verdict: 'not applicable',
  },
]);

testLogCheck('B43.log', [
  {
    name: 'the last micro-step’s',
    metrics: { loss: [0.4], policy_loss: [0.1], kl_penalty: [0.05], 'micro_steps/executed': [16] },
    verdict: 'inform',
  },
  {
    name: 'the mean',
    metrics: { loss: [0.15], policy_loss: [0.1], kl_penalty: [0.05], 'micro_steps/executed': [16] },
    verdict: 'pass',
  },
]);

testLogCheck('B43.log', [
  {
    name: 'a KL in the rewards is no part of the loss',
    metrics: { loss: [0.1], policy_loss: [0.1], kl_penalty: [0.5], 'micro_steps/executed': [16] },
    declared: { kl: { place: 'reward' } },
    verdict: 'not applicable',
  },
]);

testStepCheck('B43.components', [
  { name: 'another loss than the parts’ sum', plant: losses(0.5), verdict: 'fail', measured: { loss: 0.5 } },
  {
    name: 'one update without its parts',
    plant: (record) => {
      delete record.updates![0]!.components;
      record.updates![1]!.loss = 0.5;
    },
    verdict: 'fail',
    evidence: { values: { update: 2 } },
  },
  {
    name: 'rounding of bfloat16',
    plant: (record) => {
      const [part] = record.updates![0]!.components!;
      part!.value *= 1.003;
      record.declared!.dtype = 'bfloat16';
    },
    verdict: 'pass',
  },
  {
    name: 'what rounding leaves of terms that cancel each other',
    plant: (record) => {
      for (const update of record.updates!) {
        update.policyTerms = update.policyTerms!.map((_, t) => (t % 2 === 0 ? 1 : -1));
        for (const part of update.components!) part.value = 1e-9;
        update.loss = 3e-9;
      }
    },
    verdict: 'pass',
  },
  { name: 'no number', plant: losses(Number.NaN), verdict: 'not applicable' },
]);

testStepCheck('B43.terms', [
  { name: 'a KL term without β', plant: declare({ kl: { beta: 1 } }), into: { step: 5 }, verdict: 'fail' },
  { name: 'half of the loss', plant: losses(0.7), verdict: 'fail' },
  {
    name: 'a loss without its KL',
    plant: ({ updates, declared }) => {
      for (const update of updates!) {
        const { klTerms, weights, klWeights = weights, beta = declared!.kl!.beta! } = update;
        update.loss! -= klTerms!.reduce((sum, kl, t) => sum + beta * kl * klWeights![t]!, 0);
      }
    },
    into: { step: 5 },
    verdict: 'fail',
    measured: { lost: 'KL' },
  },
  {
    name: 'a masked token without a log-prob',
    plant: (record) => {
      const [update] = record.updates!;
      const term = update!.policyTerms![3]! * update!.weights![3]!;
      update!.policyTerms![3] = Number.NaN;
      update!.weights![3] = 0;
      update!.loss! -= term;
    },
    verdict: 'pass',
  },
  {
    name: 'β is not known',
    plant: ({ declared }) => {
      delete declared!.kl!.beta;
    },
    verdict: 'not applicable',
  },
  { name: 'a loss with an entropy bonus', into: { bonus: true }, plant: () => {}, verdict: 'pass' },
  {
    name: 'a bonus with the sign of a penalty',
    into: { bonus: true },
    plant: ({ updates }) => {
      for (const update of updates!) update.loss! += 2 * 0.01 * update.components!.at(-1)!.value;
    },
    verdict: 'fail',
  },
]);

const moving = times(20, (i) => 0.2 + 0.1 * (i % 3));

testLogCheck('B43.zero', [
  {
    name: 'beside gradients',
    metrics: { loss: [0, -0, 0, 0.1], reward: times(4, 0.4), grad_norm: [0.1, 0.2, 0.3, 9] },
    verdict: 'inform',
    measured: { entries: 4, zero: 3, shown: 'gradient', value: 0.2 },
  },
  {
    name: 'beside a KL that rises',
    metrics: { loss: times(4, 0), reward: times(4, 0.4), kl: [0, 1e-4, 2e-3, Number.POSITIVE_INFINITY] },
    verdict: 'inform',
    measured: { shown: 'kl', value: 2e-3 },
  },
  {
    name: 'one entry, of which nothing else is known',
    metrics: { loss: [0], reward: [0.4], kl: [1e-5] },
    verdict: 'inform',
    measured: { shown: 'unknown' },
  },
  {
    name: 'without a gradient, which others judge',
    metrics: { loss: times(4, 0), reward: times(4, 0.4), grad_norm: times(4, 0), kl: times(4, 0.1) },
    verdict: 'pass',
  },
  {
    name: 'beside a gradient of the KL alone, as no group has a signal',
    metrics: {
      loss: [0, 0],
      reward: [-1, -1],
      grad_norm: [1e-4, 1e-4],
      frac_reward_zero_std: [1, 1],
      kl: [0.1, 0.1],
    },
    verdict: 'pass',
  },
  {
    name: 'now and then',
    metrics: { loss: [0, 0.1, -0.1], reward: times(3, 0.4), grad_norm: times(3, 1) },
    verdict: 'pass',
  },
  {
    name: 'of a masked-diffusion model, whose ratios are estimates',
    metrics: {
      loss: times(4, 0),
      reward: times(4, 0.4),
      grad_norm: times(4, 1),
      masked_positions: times(4, 9),
    },
    verdict: 'not applicable',
  },
]);

testLogCheck('B43.monitors', [
  {
    name: 'a KL of 0 where tokens are clipped',
    metrics: { kl: times(20, 0), 'clip_ratio/region_mean': times(20, (i) => 0.01 * (i % 2)) },
    verdict: 'inform',
    measured: { names: 'kl' },
  },
  {
    name: 'an entropy of 0 while rewards differ',
    metrics: { entropy: times(20, 0), reward: moving, reward_std: times(20, 0.3) },
    verdict: 'inform',
    measured: { names: 'entropy' },
    evidence: { text: 'entropy' },
  },
  {
    name: 'an entropy of 0 where all completions of a prompt are one',
    metrics: { entropy: times(20, 0), reward: moving, reward_std: times(20, 0) },
    verdict: 'pass',
  },
  {
    name: 'a KL of 0 while the length moves',
    metrics: {
      kl: times(40, 0),
      'completions/mean_length': times(40, (i) => (i < 20 ? 100 : 400) + (i % 2)),
    },
    verdict: 'inform',
    measured: { names: 'kl' },
  },
  {
    name: 'a KL of 0 where nothing moves',
    metrics: { kl: times(40, 0), reward: times(40, 0.5) },
    verdict: 'pass',
  },
  {
    name: 'a KL that is never a number',
    metrics: { kl: times(4, Number.NaN), reward: times(4, 0.5) },
    verdict: 'inform',
    measured: { names: 'kl' },
  },
  { name: 'lengths of 0', metrics: { 'completions/mean_length': times(20, 0) }, verdict: 'inform' },
  { name: 'few entries', metrics: { 'completions/mean_length': times(9, 0) }, verdict: 'not applicable' },
]);

const policy = times(20, (i) => 0.01 * Math.sin(3 * i));
const metric = times(20, (i) => 0.02 + 0.01 * (i % 5));
const other = times(20, (i) => 0.3 - 0.02 * (i % 7));
const withPart = (weight: number) => policy.map((value, i) => value + weight * metric[i]!);

testLogCheck('B43.signs', [
  {
    name: 'a loss at ratio 1 that is a large bonus',
    metrics: {
      loss: times(20, (i) => -0.3 * (1 + (i % 5) / 10)),
      entropy: times(20, (i) => 1 + (i % 5) / 10),
      'ratio/mean': times(20, 1),
    },
    verdict: 'inform',
    measured: { name: 'bonus', weight: expect.closeTo(0.3) },
  },
  {
    name: 'a loss of another policy than that of ratio 1, without its parts',
    metrics: {
      loss: times(20, (i) => -0.3 * (1 + (i % 5) / 10)),
      entropy: times(20, (i) => 1 + (i % 5) / 10),
      'ratio/mean': times(20, (i) => 1 + (i % 2) / 100),
    },
    verdict: 'not applicable',
  },
  {
    name: 'a KL that is subtracted',
    metrics: { loss: withPart(-0.1), policy_loss: policy, kl: metric },
    verdict: 'warn',
    measured: { name: 'kl', weight: expect.closeTo(-0.1) },
  },
  {
    name: 'an entropy that is added',
    metrics: { loss: withPart(0.3), policy_loss: policy, entropy: metric },
    verdict: 'warn',
    measured: { name: 'entropy' },
  },
  {
    name: 'a KL that is added',
    metrics: { loss: withPart(0.1), policy_loss: policy, kl: metric },
    verdict: 'pass',
  },
  {
    name: 'an entropy that is subtracted',
    metrics: { loss: withPart(-0.08), policy_loss: policy, entropy: metric },
    verdict: 'pass',
  },
  {
    name: 'a KL and an entropy, both added',
    metrics: {
      loss: withPart(0.1).map((value, i) => value + 0.3 * other[i]!),
      policy_loss: policy,
      kl: metric,
      entropy: other,
    },
    verdict: 'warn',
    measured: { name: 'entropy', weight: expect.closeTo(0.3, 1) },
  },
  {
    name: 'a KL that is added and an entropy that is subtracted',
    metrics: {
      loss: withPart(0.1).map((value, i) => value - 0.08 * other[i]!),
      policy_loss: policy,
      kl: metric,
      entropy: other,
    },
    verdict: 'pass',
  },
  {
    name: 'a part that is something else',
    metrics: {
      loss: withPart(-0.1).map((value, i) => value + 8e-3 * (i % 2)),
      policy_loss: policy,
      kl: metric,
    },
    verdict: 'not applicable',
  },
  {
    name: 'a level that follows no metric',
    metrics: {
      loss: policy.map((value, i) => value + 0.3 + 0.01 * (i % 2)),
      policy_loss: policy,
      entropy: times(20, (i) => 1 + 0.01 * (i % 3)),
    },
    verdict: 'not applicable',
  },
  {
    name: 'the policy’s part alone',
    metrics: { loss: policy, policy_loss: policy, kl: metric },
    verdict: 'not applicable',
  },
]);

testLogCheck('B43.centred', [
  {
    name: 'the mean of the advantages',
    metrics: { reward: times(12, (i) => 3e-8 * ((i % 3) - 1)) },
    verdict: 'warn',
  },
  { name: 'rewards around 0', metrics: { reward: times(12, (i) => ((i % 3) - 1) / 50) }, verdict: 'pass' },
  { name: 'a task that is never solved', metrics: { reward: times(12, 0) }, verdict: 'pass' },
]);
