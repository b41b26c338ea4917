import { describe, expect, it } from 'vitest';
import type { StepRecord } from '../../trace/index.js';
import { testLogCheck, testStepCheck } from '../planted.test.helper.js';
import { declare, judgeRun, recordsOf } from '../plants.test.helper.js';

const flat = 'frac_reward_zero_std';

const cut = 'completions/clipped_ratio';

testLogCheck('B59.monitors', [
  {
    name: '16.7 % and 50 %',
    metrics: { [flat]: [0.2, 0.167], [`${flat}/counted_again`]: [0.2, 0.5] },
    verdict: 'warn',
    evidence: { step: 2 },
  },
  { name: 'one number', metrics: { [flat]: [0.2], [`${flat}/counted_again`]: [0.2] }, verdict: 'pass' },
]);

testLogCheck('B59.metrics', [
  {
    name: 'a mean above the longest',
    metrics: { 'completions/mean_length': [20, 20], 'completions/max_length': [30, 10] },
    verdict: 'fail',
    evidence: { step: 2 },
  },
  {
    name: 'the only step, and an evaluation before it',
    metrics: {
      eval_reward: [0],
      'completions/mean_length': [undefined, 20],
      'completions/max_length': [undefined, 10],
    },
    verdict: 'fail',
    measured: { entries: 1, broken: 1 },
  },
  {
    name: 'none ended, and not all were cut off',
    metrics: { 'completions/mean_length': [20], [cut]: [0.5], 'completions/mean_terminated_length': [0] },
    verdict: 'fail',
  },
  {
    name: 'none ended',
    metrics: { 'completions/mean_length': [20], [cut]: [1], 'completions/mean_terminated_length': [0] },
    verdict: 'pass',
  },
]);

testStepCheck('B59.settings', [
  {
    name: 'bounds of a ratio, given as distances from 1',
    plant: declare({ objective: { clipLow: 0.8, clipHigh: 1.2 } }),
    verdict: 'warn',
    measured: { odd: 'bounds', value: 0.8, other: 1.2 },
  },
  {
    name: 'a clip of 0, to turn it off',
    plant: declare({ objective: { clipLow: 0, clipHigh: 0 } }),
    verdict: 'warn',
    measured: { odd: 'zero' },
  },
  {
    name: 'the epsilon of an optimizer',
    plant: declare({ objective: { clipLow: 1e-8, clipHigh: 1e-8 }, updatesPerRollout: 3 }),
    verdict: 'warn',
    measured: { odd: 'narrow' },
  },
  {
    name: 'the clip of sequence ratios',
    plant: declare({ objective: { clipLow: 3e-4, clipHigh: 4e-4 }, updatesPerRollout: 4 }),
    verdict: 'pass',
  },
  {
    name: 'a wide clip that is no pair of bounds',
    plant: declare({ objective: { clipLow: 0.6, clipHigh: 0.6 } }),
    verdict: 'pass',
  },
  {
    name: 'a delta that was meant as a distance',
    plant: declare({ objective: { clipLow: 0.2, clipHigh: 0.28, delta: 0.2 } }),
    verdict: 'warn',
    measured: { odd: 'delta', other: 1.28 },
  },
  { name: 'a delta of 4', plant: declare({ objective: { clipLow: 0.2, delta: 4 } }), verdict: 'pass' },
  {
    name: 'CISPO with the upper clip of PPO',
    plant: declare({ objective: { loss: 'cispo', clipLow: 0.2, clipHigh: 0.2 } }),
    verdict: 'warn',
    measured: { odd: 'cap' },
  },
  {
    name: 'CISPO with a cap of its own',
    plant: declare({ objective: { loss: 'cispo', clipHigh: 0.2, cap: 5 } }),
    verdict: 'pass',
  },
  {
    name: 'no tokens of high entropy, to turn the choice off',
    plant: declare({ entropy: { topShare: 0 } }),
    verdict: 'warn',
    measured: { odd: 'share', value: 0 },
  },
  { name: 'a fifth of the tokens', plant: declare({ entropy: { topShare: 0.2 } }), verdict: 'pass' },
  { name: 'many updates of one rollout', plant: declare({ updatesPerRollout: 32 }), verdict: 'inform' },
  { name: 'some updates of one rollout', plant: declare({ updatesPerRollout: 4 }), verdict: 'pass' },
]);

const changed =
  (name: string) =>
  ({ probes }: StepRecord) => {
    probes!.changedSettings = [{ name, from: '1', to: '2' }];
  };

testStepCheck('B59.tokenizer', [
  {
    name: 'another template',
    plant: changed('tokenizer.chat_template'),
    verdict: 'fail',
    measured: { name: 'chat_template', from: '1', to: '2' },
  },
  { name: 'another setting', plant: changed('temperature'), verdict: 'pass' },
]);

testStepCheck('B59.changed', [
  {
    name: 'a template, of which another check tells',
    plant: changed('tokenizer.chat_template'),
    verdict: 'pass',
  },
  {
    name: 'a temperature that a callback lowers',
    plant({ probes }) {
      probes!.changedSettings = [{ name: 'temperature', from: '1.0', to: '0.9' }];
    },
    verdict: 'warn',
    measured: { name: 'temperature', to: '0.9' },
  },
  { name: 'none', plant: () => {}, verdict: 'pass' },
]);

/** Rows that say the same, but for a change. */
const rowsWith = (change: (rows: StepRecord) => void) => (record: StepRecord) => {
  record.rows = structuredClone(record);
  change(record.rows);
};

testStepCheck('B59.rows', [
  {
    name: 'the record of an evaluation, beside the rows of its step',
    plant(record) {
      rowsWith(() => {})(record);
      delete record.completions;
    },
    verdict: 'not applicable',
  },
  { name: 'the same', plant: rowsWith(() => {}), verdict: 'pass' },
  {
    name: 'rows without what the record has',
    plant: rowsWith((rows) => {
      delete rows.advantages;
    }),
    verdict: 'pass',
  },
  {
    name: 'rows of rewards that a KL was taken from in the record',
    plant(record) {
      const { rewards, declared } = record;
      const B = rewards!.totals!.length;
      declared!.kl = { ...declared!.kl, place: 'reward' };
      rewards!.names = [...rewards!.names!, 'kl_penalty'];
      rewards!.weights = [...rewards!.weights!, -1];
      rewards!.values = Float64Array.of(...rewards!.values!, ...Array<number>(B).fill(0.1));
      rewards!.totals = rewards!.totals!.map((total) => total - 0.1);
      rowsWith(() => {})(record);
    },
    verdict: 'pass',
  },
  {
    name: 'the advantage of the neighbour',
    plant: rowsWith(({ advantages }) => {
      advantages!.set([advantages![9]!, advantages![8]!], 8);
    }),
    verdict: 'fail',
    measured: { quantity: 'advantage', others: 0 },
    evidence: { completion: 8 },
  },
  {
    name: 'another end',
    plant: rowsWith(({ completions }) => {
      completions!.finish![3] = 'tool';
    }),
    verdict: 'fail',
    measured: { quantity: 'reason of the end', row: '"tool"' },
  },
  {
    name: 'another text',
    plant: rowsWith(({ completions }) => {
      completions!.texts![0] = 'other';
    }),
    verdict: 'fail',
    measured: { quantity: 'text' },
  },
  {
    name: 'a prompt of another group',
    plant: rowsWith(({ prompts }) => {
      prompts!.texts!.reverse();
    }),
    verdict: 'fail',
    measured: { quantity: 'prompt' },
  },
  {
    name: 'a completion that is missing',
    plant: rowsWith(({ completions }) => {
      completions!.prompt = completions!.prompt!.slice(1);
    }),
    verdict: 'fail',
    measured: { quantity: 'number of completions' },
  },
]);

describe('B59.rules', () => {
  /** Records whose first reward pays by a rule. */
  const judged = (pays: (step: number, b: number) => number) =>
    judgeRun(
      'B59.rules',
      recordsOf([1, 2, 3, 4], ({ rewards, completions }, step) => {
        const B = completions!.texts!.length;
        rewards!.names = ['answer'];
        rewards!.weights = [1];
        rewards!.values = Float64Array.from({ length: B }, (_, b) => pays(step, b));
        rewards!.rules = [Array.from({ length: B }, (_, b) => (b % 2 === 0 ? 'equal' : 'different'))];
      }),
    );

  it('warns where a rule comes to pay something else', () => {
    expect(judged((step, b) => (b % 2 === 0 && step < 3 ? 1 : 0))).toMatchObject({
      severity: 'warn',
      measured: { reward: 'answer', rule: 'equal', before: 1, now: 0, step: 3 },
    });
  });

  it('passes rules that pay one value, or several from the start', () => {
    expect(judged((_, b) => (b % 2 === 0 ? 1 : 0))).toMatchObject({ verdict: 'pass' });
    expect(judged((step, b) => (b === 0 && step === 3 ? 0.5 : Number(b % 2 === 0)))).toMatchObject({
      verdict: 'pass',
    });
    expect(judged((step, b) => step * b)).toMatchObject({ verdict: 'not applicable' });
  });
});
