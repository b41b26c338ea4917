import { describe, expect, it } from 'vitest';
import type { StepRecord } from '../../trace/index.js';
import { testLogCheck, testStepCheck, times } from '../planted.test.helper.js';
import { judgeRun, onRows, recordsOf } from '../plants.test.helper.js';

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

/** Right answers in texts that go on behind them, as a grader pays that looks for the answer anywhere. */
const containing = (pays: (text: string, answer: string) => boolean) => (record: StepRecord) => {
  const { completions, rewards, prompts } = record;
  const B = completions!.texts!.length;
  prompts!.answers = Array.from(prompts!.lengths!, (_, p) => String(100 + p));
  const answerOf = (b: number) => prompts!.answers![completions!.prompt![b]!]!;
  completions!.texts = completions!.texts!.map((_, b) => (b % 2 === 0 ? `${answerOf(b)} or 7` : 'no idea'));
  for (let b = 0; b < B; b++) rewards!.values![b] = Number(pays(completions!.texts[b]!, answerOf(b)));
};

describe('B26.contains', () => {
  const judged = (pays: (text: string, answer: string) => boolean) =>
    judgeRun('B26.contains', recordsOf([1, 2], containing(pays)));

  it('warns where all texts are paid that have the answer in them', () => {
    expect(judged((text, answer) => text.includes(answer))).toMatchObject({
      severity: 'warn',
      evidence: [{ text: '100 or 7 (the answer is 100)' }, {}],
    });
  });

  it('informs where few texts show it', () => {
    const few = recordsOf([1, 2], (record) => {
      containing((text, answer) => text.includes(answer))(record);
      const { texts } = record.completions!;
      const holes = texts!.flatMap((text, b) => (text.includes(' or ') && text.includes('10') ? [b] : []));
      for (const b of holes.slice(2)) {
        texts![b] = 'no idea';
        record.rewards!.values![b] = 0;
      }
    });
    expect(judgeRun('B26.contains', few)).toMatchObject({ severity: 'inform', measured: { holes: 4 } });
  });

  it('passes a grader that reads the answer, and one that pays something else', () => {
    expect(judged((text, answer) => text.endsWith(answer))).toMatchObject({ verdict: 'pass' });
    expect(judged((text) => text.startsWith('no'))).toMatchObject({ verdict: 'pass' });
  });
});

/** Numbers about the answer 1000: right, nearly right, wrong by more and more. */
const answersAbout =
  (pays: (off: number) => boolean, put: (number: number) => string = String) =>
  (record: StepRecord) => {
    const { completions, rewards, prompts } = record;
    prompts!.answers = Array.from(prompts!.lengths!, () => '1000');
    for (const [b, text] of completions!.texts!.entries()) {
      const off = b % 5 === 0 ? 0 : b % 5 === 1 ? 2 : 10 * (b + 2);
      completions!.texts![b] = text === '' ? '' : `It is ${put(1000 - off)}.`;
      rewards!.values![b] = Number(pays(off));
    }
  };

describe('B26.near', () => {
  const judged = (...args: Parameters<typeof answersAbout>) =>
    judgeRun('B26.near', recordsOf([1, 2, 3], answersAbout(...args)));

  it('warns where numbers near the answer are paid like it', () => {
    expect(judged((off) => off <= 5)).toMatchObject({
      severity: 'warn',
      measured: { answers: '998 for 1000, 998 for 1000, 998 for 1000' },
    });
  });

  it('passes a grader of the number, one that misses it, and one that pays all', () => {
    for (const pays of [(off: number) => off === 0, (off: number) => off === 2, () => true])
      expect(judged(pays)).toMatchObject({ verdict: 'pass' });
  });

  it('passes one that pays wrong numbers near and far', () => {
    expect(judged((off) => off <= 5 || off > 60)).toMatchObject({ verdict: 'pass' });
  });

  it('passes a form that most wrong numbers have, the farthest not', () => {
    expect(judged((off) => off <= 100)).toMatchObject({ verdict: 'pass' });
  });

  it('takes parts of fractions for no numbers', () => {
    expect(
      judged(
        (off) => off <= 5,
        (number) => `${number}/2`,
      ),
    ).not.toMatchObject({ severity: 'warn' });
  });
});

/** Groups whose first half gives the answer 5, and whose others count on; `paid` says who earns. */
const counted = (paid: (group: number, isRight: boolean, b: number) => boolean) => (record: StepRecord) => {
  const { completions, rewards, prompts } = record;
  prompts!.answers = Array.from(prompts!.lengths!, (_, p) => (p === 0 ? 'five' : '5'));
  for (const [b, p] of completions!.prompt!.entries()) {
    const isRight = b % 2 === 0;
    completions!.texts![b] = `It is ${isRight ? 5 : 6 + b}`;
    rewards!.values![b] = Number(paid(p, isRight, b));
  }
};

describe('B26.agree', () => {
  const judged = (paid: Parameters<typeof counted>[0]) =>
    judgeRun('B26.agree', recordsOf([1, 2], counted(paid)));

  it('warns where rows pay every answer', () => {
    expect(judged((group, isRight) => group === 0 || isRight)).toMatchObject({
      severity: 'warn',
      measured: { groups: 2, answer: 'five' },
    });
  });

  it('passes a grader of the answer, and one that pays several answers everywhere', () => {
    expect(judged((_, isRight) => isRight)).toMatchObject({ verdict: 'pass' });
    // One that is paid alone agrees with itself.
    expect(judged((group, _, b) => group === 0 || b % 4 === 0)).toMatchObject({ verdict: 'pass' });
    expect(judged((group, isRight) => group === 0 || !isRight)).toMatchObject({ verdict: 'pass' });
  });
});
