import { describe, expect, it } from 'vitest';
import type { StepRecord, TextChange } from '../../trace/index.js';
import { LogView } from '../log-view.js';
import { seriesOf, testLogCheck, testStepCheck, times } from '../planted.test.helper.js';
import { all, changeCanaries, judgeRun, penalized, recordsOf } from '../plants.test.helper.js';
import { registry } from '../registry.js';

const everyReward =
  (value: number) =>
  ({ rewards }: StepRecord) => {
    rewards!.values!.fill(value);
    rewards!.totals!.fill(value);
  };

const graded =
  (change: (text: string) => string, b = 2) =>
  ({ completions }: StepRecord) => {
    completions!.texts![b] = change(completions!.texts![b]!);
  };

const declares =
  (textChanges: TextChange[] | undefined) =>
  ({ declared }: StepRecord) => {
    if (textChanges) declared!.textChanges = textChanges;
    else delete declared!.textChanges;
  };

const cut = graded((text) => text.slice(0, -12));

testStepCheck('B20.text', [
  {
    name: 'a text that ends earlier than any stop string',
    plant: cut,
    verdict: 'fail',
    measured: { change: 'cut', changed: 1, text: 'ame</answer>' },
    evidence: { completion: 2 },
  },
  { name: 'a text that ends earlier, as declared', plant: all(cut, declares(['cut'])), verdict: 'pass' },
  {
    name: 'a text that ends earlier, nothing declared',
    plant: all(cut, declares(undefined)),
    verdict: 'warn',
  },
  {
    name: 'a stop string less, which another check names',
    plant: graded((text) => text.replace('</answer>', '')),
    verdict: 'pass',
  },
  {
    name: 'a text without its spaces',
    plant: graded((text) => text.replaceAll(' ', ''), 9),
    verdict: 'fail',
    measured: { change: 'rewritten', text: '<answer>9apples</answer>' },
  },
  {
    name: 'white space and an end token more',
    plant: graded((text) => `\n${text}<|end|>`),
    verdict: 'pass',
  },
  {
    name: 'the prompt’s end, which another check names',
    plant: graded((text) => `>${text}`),
    verdict: 'pass',
  },
  {
    name: 'no texts as sampled',
    plant: ({ completions }) => void delete completions!.sampledTexts,
    verdict: 'not applicable',
  },
]);

testStepCheck('B20.canary', [
  {
    name: 'all alike',
    plant: changeCanaries(() => ({ value: 0.5 })),
    verdict: 'warn',
    measured: { value: 0.5, kinds: 3 },
  },
  {
    name: 'all alike, and nobody knows what is right',
    plant: ({ probes }) => {
      probes!.canaries = probes!.canaries!.map(({ least: _, ...canary }) => ({ ...canary, value: 0.5 }));
    },
    verdict: 'inform',
  },
  {
    name: 'a part alone',
    plant: changeCanaries(() => ({ value: 1, reward: 'other' })),
    verdict: 'not applicable',
  },
]);

testLogCheck('B20.log', [
  {
    name: 'rare rewards of the few groups that differ',
    metrics: { reward: times(20, (i) => 0.02 + 0.001 * (i % 3)), frac_reward_zero_std: times(20, 0.96) },
    verdict: 'pass',
  },
  {
    name: 'penalties in flat groups',
    metrics: { reward: times(20, (i) => -4 + 0.1 * (i % 3)), frac_reward_zero_std: times(20, 0.96) },
    verdict: 'warn',
  },
  {
    name: 'a few entries in which one group differs',
    metrics: { reward: [0.9, 0.2, 0.5, 0.7, 0.4, 0.6], frac_reward_zero_std: [1, 1, 1, 1, 0.67, 1] },
    verdict: 'inform',
  },
  {
    name: 'a few entries in which none does',
    metrics: { reward: [0.9, 0.2, 0.5, 0.7, 0.4, 0.6], frac_reward_zero_std: times(6, 1) },
    verdict: 'warn',
  },
  {
    name: 'the fallback throughout',
    metrics: { reward: times(4, 0.5), reward_std: times(4, 0) },
    verdict: 'warn',
    measured: { reward: 0.5 },
  },
  {
    name: 'one length throughout, so that a reward of lengths is one value',
    metrics: {
      reward: times(4, -236),
      reward_std: times(4, 0),
      'completions/mean_length': times(4, 256),
    },
    verdict: 'warn',
    measured: { length: 256 },
  },
  {
    name: 'after an evaluation of the model as it came',
    metrics: { eval_reward: [0], reward: [undefined, 0, 0, 0], reward_std: [undefined, 0, 0, 0] },
    firstStep: 0,
    verdict: 'warn',
    measured: { entries: 3 },
    evidence: { step: 1, text: 'reward', values: { value: 0 } },
  },
  {
    name: 'a reward that moves once',
    metrics: { reward: [0, 0, 0.1, 0], reward_std: [0, 0, 0.2, 0] },
    verdict: 'pass',
  },
  {
    name: 'a reward of the prompt alone',
    metrics: {
      reward: times(20, (i) => (i % 5) / 9),
      frac_reward_zero_std: times(20, (i) => 1 - (i % 2) / 40),
    },
    verdict: 'warn',
    measured: { isFixed: false },
  },
  {
    name: 'groups that are all right from the start',
    metrics: { reward: times(20, (i) => 0.99 + (i % 2) / 100), frac_reward_zero_std: times(20, 0.98) },
    verdict: 'inform',
  },
  {
    name: 'groups that are all right in the end',
    metrics: { reward: times(20, (i) => i / 20), frac_reward_zero_std: times(20, (i) => i / 20) },
    verdict: 'pass',
  },
  {
    name: 'a deviation that the log has where it is 0 alone',
    metrics: {
      reward: times(40, (i) => (i % 10 === 5 ? 1 : 0.5 + (i % 3) / 20)),
      reward_std: times(40, (i) => (i % 10 === 5 ? 0 : undefined)),
    },
    verdict: 'pass',
    measured: { flat: 0.1 },
  },
  {
    name: 'advantages that are all 0, though rewards differ',
    metrics: { reward: times(20, (i) => (i % 5) / 9), 'advantages/all_zero': times(20, 1) },
    verdict: 'warn',
    measured: { isFixed: false, flat: 1 },
  },
  {
    name: 'advantages without a deviation, though rewards differ',
    metrics: { reward: times(20, (i) => (i % 5) / 9), 'advantages/std': times(20, 0) },
    verdict: 'warn',
    measured: { isFixed: false, flat: 1 },
  },
  {
    name: 'a reward that never changes',
    metrics: { reward: times(8, 0) },
    verdict: 'warn',
    measured: { isFixed: true, isKnown: false, reward: 0 },
  },
  {
    name: 'a reward that never changes, and a KL',
    metrics: { reward: times(8, 0), loss: times(8, 0.01), grad_norm: times(8, 0.2), kl: times(8, 0.3) },
    verdict: 'warn',
    measured: { isOther: false },
  },
  {
    name: 'a reward that never changes, and a loss below 0',
    metrics: { reward: times(8, 0), loss: times(8, (i) => 0.01 * (-1) ** i) },
    verdict: 'inform',
    measured: { isOther: true },
  },
  {
    name: 'a reward that never changes, and a gradient that no KL gives',
    metrics: { reward: times(8, 0), loss: times(8, 0), grad_norm: times(8, 0.2) },
    verdict: 'inform',
    measured: { isOther: true },
  },
  {
    name: 'a reward that never changes, though single ones differ',
    metrics: { reward: times(8, 0), reward_std: times(8, 0.4) },
    verdict: 'pass',
  },
  {
    name: 'a reward that never changes to its one decimal',
    metrics: { reward: times(8, 0.5), loss: times(8, -0.01) },
    series: { decimals: { reward: 1 } },
    verdict: 'not applicable',
  },
  { name: 'seven equal rewards', metrics: { reward: times(7, 0.5) }, verdict: 'not applicable' },
  { name: 'two entries', metrics: { reward: [0.5, 0.5], reward_std: [0, 0] }, verdict: 'not applicable' },
]);

testStepCheck('B20.constant', [
  {
    name: 'a fallback for everything, and a KL',
    plant: (record) => {
      everyReward(0.5)(record);
      penalized(record);
    },
    verdict: 'warn',
    measured: { value: 0.5 },
  },
  { name: 'a fallback for everything', plant: everyReward(0.5), verdict: 'warn', measured: { value: 0.5 } },
  {
    name: 'a fallback for message lists',
    plant: (record) => {
      everyReward(0.5)(record);
      record.rewards!.inputType = 'messages';
    },
    verdict: 'warn',
    measured: { inputType: 'messages' },
  },
  {
    name: 'a sparse reward that nobody got',
    plant: everyReward(0),
    verdict: 'inform',
    measured: { natural: true },
  },
  { name: 'a learnt task', plant: everyReward(1), verdict: 'inform' },
  {
    name: 'a learnt task with two rewards of weight 0.5 and 1',
    plant: (record) => {
      everyReward(1)(record);
      record.rewards!.totals!.fill(1.5);
    },
    verdict: 'inform',
  },
  {
    name: 'one text for all',
    plant: (record) => {
      everyReward(0.5)(record);
      record.completions!.texts!.fill('same');
    },
    verdict: 'not applicable',
  },
  { name: 'no reward at all', plant: everyReward(Number.NaN), verdict: 'not applicable' },
]);

/** The first reward takes a parameter without a column. */
const unfilled = (record: StepRecord) => {
  record.probes!.unfilled = [{ reward: record.rewards!.names![0]!, parameter: 'answer' }];
};

testStepCheck('B20.columns', [
  {
    name: 'a parameter without a column, of a reward that is one value',
    plant: (record) => {
      unfilled(record);
      record.rewards!.values!.fill(0, 0, record.rewards!.totals!.length);
    },
    verdict: 'warn',
    measured: { parameter: 'answer' },
  },
  { name: 'one that the reward can do without', plant: unfilled, verdict: 'inform' },
  {
    name: 'one of a reward that the record does not have',
    plant: ({ probes }) => {
      probes!.unfilled = [{ reward: 'solved', parameter: 'answer' }];
    },
    verdict: 'inform',
  },
  { name: 'none', plant: () => {}, verdict: 'pass' },
]);

/** One special token in each of so many completions, before their end. */
const tagged = (count: number) => (record: StepRecord) => {
  const { tokenizer, completions } = record;
  tokenizer!.specialTokens = { ...tokenizer!.specialTokens, 46: '<think>' };
  let first = 0;
  for (const [b, length] of completions!.lengths!.entries()) {
    for (let t = first; t < first + length; t++) if (completions!.ids![t] === 46) completions!.ids![t] = 45;
    if (b < count) completions!.ids![first] = 46;
    first += length;
  }
};

testStepCheck('B20.special', [
  {
    name: 'a tag that decoding left out, beside a reward that is one value',
    plant(record) {
      tagged(20)(record);
      record.rewards!.values!.fill(0, 0, record.rewards!.totals!.length);
    },
    verdict: 'warn',
    measured: { lacking: 20, tokens: '<think>' },
  },
  { name: 'one that the rewards can do without', plant: tagged(20), verdict: 'inform' },
  {
    name: 'a tag that the texts have',
    plant(record) {
      tagged(20)(record);
      record.completions!.texts = record.completions!.texts!.map((text) => `<think>${text}`);
    },
    verdict: 'pass',
  },
  { name: 'a special token in some of them', plant: tagged(8), verdict: 'pass' },
]);

/** Right answers beside wrong ones in each group. */
const byPrompt = (value: (prompt: number, isRight: boolean) => number) => (record: StepRecord) => {
  const { completions, rewards, prompts } = record;
  prompts!.answers = Array.from(prompts!.lengths!, (_, p) => String(100 + p));
  for (const [b, p] of completions!.prompt!.entries()) {
    completions!.texts![b] = b % 2 === 0 ? `It is ${100 + p}` : 'It is 7';
    rewards!.values![b] = value(p, b % 2 === 0);
  }
};

describe('B20.prompt', () => {
  const judged = (value: Parameters<typeof byPrompt>[0]) =>
    judgeRun('B20.prompt', recordsOf([1, 2], byPrompt(value)));

  it('warns of a reward that is one value for each prompt', () => {
    expect(judged((prompt) => prompt % 2)).toMatchObject({ severity: 'warn', measured: { groups: 6 } });
  });

  it('passes a reward that tells completions apart, and one that is the same for all', () => {
    for (const value of [(_: number, isRight: boolean) => Number(isRight), () => 1])
      expect(judged(value)).toMatchObject({ verdict: 'pass' });
  });
});

const withoutBreaks = (earned: number) => (record: StepRecord) => {
  record.probes!.lineBreaks = [{ reward: 'format', graded: 4, earned }];
};

testStepCheck('B20.lines', [
  {
    name: 'a pattern that ends at the first line',
    plant: withoutBreaks(4),
    verdict: 'warn',
    measured: { reward: 'format', earned: 4 },
  },
  { name: 'one that finds nothing either way', plant: withoutBreaks(0), verdict: 'pass' },
]);

describe('what equal rewards say of a task', () => {
  const check = registry.find(({ code }) => code === 'B20.log')!;
  const saysOf = (metrics: Record<string, number[]>) => {
    const outcome = check.scope === 'log' && check.test(new LogView(seriesOf({ metrics })));
    return outcome && 'evidence' in outcome ? check.says(outcome.measured) : '';
  };

  it('is that it is too hard at the lowest reward, and too easy at the highest', () => {
    const fixed = (reward: number) => saysOf({ reward: times(4, reward), reward_std: times(4, 0) });
    expect(fixed(0)).toMatch(/the task is too hard;/);
    expect(fixed(-1)).toMatch(/the task is too hard;/);
    expect(fixed(1)).toMatch(/the task is too easy;/);
  });

  it('is that groups are all wrong where the reward is low', () => {
    const flat = (level: number) =>
      saysOf({ reward: times(20, (i) => level + 0.02 * (i % 3)), frac_reward_zero_std: times(20, 0.96) });
    expect(flat(0.1)).toMatch(/such as all wrong or all truncated/);
    expect(flat(0.8)).toMatch(/such as all right or all truncated/);
  });
});
