import { expect, it } from 'vitest';
import type { StepRecord } from '../../trace/index.js';
import { change, outcomeOf, startOf, testLogCheck, testStepCheck, times } from '../planted.test.helper.js';
import { all, half, judgeRun, offPlainly, sampled } from '../plants.test.helper.js';
import { numbers } from '../record.test.helper.js';
import { richRecord } from '../rich-record.test.helper.js';

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
    name: 'a third of the probability cut off, and the ids that were left kept',
    into: { kept: true },
    plant: ({ completions }) => {
      completions!.samplerLogprobs = completions!.sampledLogprobs!.map((value) => value - 0.4);
    },
    verdict: 'pass',
  },
  {
    name: 'penalties beside them',
    into: { kept: true },
    plant: ({ completions, declared }) => {
      declared!.rollout!.presencePenalty = 1;
      completions!.samplerLogprobs = completions!.sampledLogprobs!.map((value) => value - 0.4);
    },
    verdict: 'warn',
  },
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

testStepCheck('B19.processed', [
  { name: 'log-probs after truncation', plant: sampled((_, t) => 0.2 + 0.1 * (t % 2)), verdict: 'warn' },
  {
    name: 'log-probs after truncation, in half precision',
    plant: all(
      half,
      sampled((_, t) => (t % 3 ? 0.2 : -0.03)),
    ),
    verdict: 'warn',
  },
  { name: 'another temperature', plant: sampled((value) => 0.3 + 0.4 * value), verdict: 'pass' },
  {
    name: 'rounding of half precision',
    plant: all(
      half,
      sampled((_, t) => (t % 2 ? 0.03 : 0)),
    ),
    verdict: 'pass',
  },
  {
    name: 'a sampler that is less sure',
    plant: sampled(() => -0.2),
    verdict: 'pass',
  },
]);

testStepCheck('B19.temperature', [
  {
    name: 'as log-probs after top-p fit',
    plant: all(
      temperatures(0.3, 1e-6),
      sampled(() => 0.2),
    ),
    verdict: 'not applicable',
  },
  {
    name: 'scored at another temperature',
    plant: all(
      temperatures(0.3, 1e-6),
      sampled((value) => 0.3 + 0.4 * value),
    ),
    verdict: 'fail',
    measured: { fits: 0.7 },
  },
  {
    name: 'scored at another that a callback set',
    plant: all(
      temperatures(0.3, 1e-6),
      sampled((value) => 0.3 + 0.4 * value),
      ({ probes }) => {
        probes!.changedSettings = [{ name: 'trainer.temperature', from: '1.0', to: '0.7' }];
      },
    ),
    verdict: 'fail',
    measured: { began: '1.0' },
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

const likely = (logprob: number, entropy: number) => ({
  'logprobs/mean': times(12, (i) => logprob + (i % 3) / 100),
  entropy: times(12, entropy),
  'completions/mean_length': times(12, 20),
});

testLogCheck('B19.log', [
  { name: 'tokens as likely as the entropy says', metrics: likely(-1, 0.98), verdict: 'pass' },
  { name: 'tokens less likely', metrics: likely(-2, 1), verdict: 'warn' },
  { name: 'tokens likelier', metrics: likely(-0.4, 1), verdict: 'warn' },
  { name: 'log-probs of whole completions', metrics: likely(-20, 1), verdict: 'not applicable' },
  {
    name: 'too likely for whole completions, too unlikely for tokens',
    metrics: likely(-13, 1),
    verdict: 'warn',
  },
  { name: 'too unlikely even as whole completions', metrics: likely(-60, 1), verdict: 'warn' },
  { name: 'tokens sampled at a temperature of 0.7', metrics: likely(-0.62, 1), verdict: 'warn' },
]);

testLogCheck('B19.ratio', [
  {
    name: 'a mean ratio away from 1',
    metrics: { 'ratio/mean': times(12, (i) => 1.3 + (i % 3) / 50) },
    verdict: 'warn',
  },
  {
    name: 'ratios that scatter widely',
    metrics: { 'ratio/mean': times(12, (i) => 0.9 + (i % 3)) },
    verdict: 'pass',
  },
  {
    name: 'ratios around 1',
    metrics: { 'ratio/mean': times(12, (i) => 0.98 + (i % 3) / 50) },
    verdict: 'pass',
  },
]);

testStepCheck('B19.truncation', [
  {
    name: 'ends that are forbidden at first',
    plant: (record) => {
      const { completions } = record;
      completions!.sampledLogprobs = completions!.sampledLogprobs!.slice();
      for (const [b, length] of completions!.lengths!.entries()) {
        const start = startOf(record, b);
        for (let t = start; t < start + Math.min(2, length); t++) completions!.sampledLogprobs![t]! += 3;
      }
    },
    verdict: 'warn',
    measured: { first: 2 },
  },
]);

/** Tokens of entropy 0.69, drawn with the likelier of two a little too often or as often as they should. */
const surprised = (share: number) => (record: StepRecord) => {
  const draw = numbers(record.step);
  change(record, 'entropies', () => Math.log(2) - 0.02);
  const [likely, rare] = [Math.log(0.6), Math.log(0.4)];
  change(record, 'policyLogprobs', () => (draw() < share ? likely : rare));
};

it('B19.surprises adds up what single steps are too small to show', () => {
  const steps = (count: number, share: number) =>
    Array.from({ length: count }, (_, i) => {
      const record = richRecord({ step: i + 1 });
      surprised(share)(record);
      return record;
    });
  expect(outcomeOf('B19.surprise', steps(1, 0.8)[0]!)).toMatchObject({ verdict: 'pass' });
  expect(judgeRun('B19.surprises', steps(24, 0.8))).toMatchObject({
    severity: 'warn',
    measured: { flatter: false },
  });
  expect(judgeRun('B19.surprises', steps(24, 0.6))).toMatchObject({ verdict: 'pass' });
});

const processed = (names: readonly string[]) => (record: StepRecord) => {
  record.settings = { logitsProcessors: names };
};

testStepCheck('B19.processors', [
  {
    name: 'a ban of repeated words',
    plant: processed(['TemperatureLogitsWarper', 'NoRepeatNGramLogitsProcessor']),
    verdict: 'warn',
    measured: { processors: 2, others: 'NoRepeatNGramLogitsProcessor' },
  },
  { name: 'those of settings', plant: processed(['TopPLogitsWarper', 'MinPLogitsWarper']), verdict: 'pass' },
]);
