import { describe, expect, it } from 'vitest';
import { CANARY } from '../../trace/index.js';
import { arithmeticTask } from '../arithmetic/task.js';
import { defineTask } from '../define.js';
import { findAnswer } from './frame.js';
import { type CanaryGroup, canaryGroups } from './make.js';

const textOf = ({ canaries }: CanaryGroup, kind: string) =>
  canaries.find((canary) => canary.kind === kind)?.completion;

describe('canaries', () => {
  const task = arithmeticTask({ slips: 1 });
  const groups = canaryGroups(task, { seed: 1 });

  it('are of 8 rows, the gold answer first and right though demonstrations have slips', () => {
    expect(groups).toHaveLength(8);
    for (const { problem, gold, canaries } of groups) {
      expect(canaries[0]).toEqual({ kind: CANARY.gold, completion: gold });
      expect(task.isCorrect!(gold, problem.row)).toBe(true);
    }
  });

  it('are each kind once, and only gold answers are right', () => {
    for (const { problem, canaries } of groups) {
      expect(canaries.map(({ kind }) => kind)).toEqual(Object.values(CANARY));
      const right = canaries.filter(({ completion }) => task.isCorrect!(completion, problem.row));
      expect(right.map(({ kind }) => kind)).toEqual([CANARY.gold]);
    }
  });

  it('say what they are', () => {
    const [group] = groups;
    const { question, answer } = group!.problem.row;
    const said = (kind: string) => textOf(group!, kind)!;
    expect([CANARY.empty, CANARY.spaces, CANARY.newline].map((kind) => said(kind).trim())).toEqual([
      '',
      '',
      '',
    ]);
    expect(said(CANARY.prompt)).toBe(`${question}=`);
    expect(said(CANARY.format)).toBe('<think></think> <answer></answer>');
    expect(findAnswer(said(CANARY.options))!.answer.split(', ').sort()).toEqual(
      [...'0123456789', answer].sort(),
    );
    expect(findAnswer(said(CANARY.options))!.answer).not.toMatch(new RegExp(`^${answer},|, ${answer}$`));
    expect(said(CANARY.repeated).length).toBeGreaterThanOrEqual(4096);
    expect(findAnswer(said(CANARY.other))!.answer).not.toBe(answer);
  });

  it('have a wrong number on either side of the right one', () => {
    for (const group of groups) {
      const { answer } = group.problem.row;
      const number = (kind: string) => Number(findAnswer(textOf(group, kind)!)!.answer);
      expect(number(CANARY.smaller)).toBeLessThan(0.5 * Number(answer) + 0.5);
      expect(number(CANARY.larger)).toBeGreaterThan(1.5 * Number(answer));
    }
  });

  it('follow from the seed, and from the draw', () => {
    const rows = (seed: number, draw = 0) =>
      canaryGroups(task, { seed, draw }).map(({ problem }) => problem.row.question);
    expect(rows(1)).toEqual(rows(1));
    expect(rows(1, 100)).not.toEqual(rows(1));
    expect(rows(2)).not.toEqual(rows(1));
  });
});

describe('the gold of another row', () => {
  const of = (answers: string[], isCorrect?: (text: string, row: string) => boolean) =>
    canaryGroups(
      defineTask<string>({
        name: 'said',
        rows: answers,
        evalRows: ['held out'],
        prompt: (row) => row,
        demonstration: (row) => row,
        rewards: { none: () => 0 },
        ...(isCorrect && { isCorrect }),
      }),
      { seed: 0 },
    );

  it('is none that is right as well', () => {
    const value = (text: string) => Number(text.replace('1/2', '0.5'));
    for (const group of of(['1/2', '0.5', '3'], (text, row) => value(text) === value(row))) {
      const own = value(group.problem.row);
      expect(value(textOf(group, CANARY.other)!)).not.toBe(own);
    }
  });

  it('is another one all the same where everything is right', () => {
    for (const group of of(['a', 'b', 'c'], () => true))
      expect(textOf(group, CANARY.other)).not.toBe(group.problem.row);
  });

  it('is missing where all rows have one answer', () => {
    const same = defineTask({
      name: 'same',
      rows: ['a', 'b', 'c'],
      evalSize: 1,
      prompt: (row) => row,
      demonstration: () => 'yes',
      rewards: { none: () => 0 },
    });
    for (const group of canaryGroups(same, { seed: 0 })) expect(textOf(group, CANARY.other)).toBeUndefined();
  });
});

it('without a gold answer there are none', () => {
  const task = defineTask({
    name: 'open',
    rows: ['a', 'b'],
    prompt: (row) => row,
    rewards: { none: () => 0 },
  });
  expect(canaryGroups(task, { seed: 0 })).toEqual([]);
});

describe('the frame of an answer', () => {
  it.each([
    ['<think>1</think> <answer>72</answer>', '72', '<think>1</think> <answer>x</answer>'],
    ['Answer: B\nJustification: so', 'B', 'Answer: x\nJustification: so'],
    ['so \\boxed{\\frac{1}{2}}.', '\\frac{1}{2}', 'so \\boxed{x}.'],
  ])('%s', (text, answer, replaced) => {
    expect(findAnswer(text)?.answer).toBe(answer);
    expect(findAnswer(text)?.replaced('x')).toBe(replaced);
  });

  it('may be missing', () => {
    expect(findAnswer('72')).toBeUndefined();
  });
});
