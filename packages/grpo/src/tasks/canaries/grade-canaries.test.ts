import { describe, expect, it } from 'vitest';
import { scoreCompletions, type Verdict } from '../../rewards/index.js';
import { CANARY } from '../../trace/index.js';
import { defineTask } from '../define.js';
import { type GradedCanary, gradeCanaries, isWrong } from './grade-canaries.js';
import { canaryGroups } from './make.js';

interface Sum {
  question: string;
  answer: string;
}
type Score = (completion: string, row: Sum) => number | null | Verdict;

const ROWS = [3, 14, 25, 36, 47, 58, 69, 71].map((n) => ({ question: `${n}?`, answer: String(n) }));
const exact = (completion: string, { answer }: Sum) => completion === `\\boxed{${answer}}`;

async function graded(
  rewards: Record<string, Score | { each: Score; weight: number }>,
  { isCorrect = exact, isPart = false }: { isCorrect?: typeof exact | null; isPart?: boolean } = {},
): Promise<GradedCanary[]> {
  const task = defineTask<Sum>({
    name: 'sums',
    rows: ROWS,
    evalRows: [{ question: '0?', answer: '0' }],
    prompt: ({ question }) => question,
    demonstration: ({ answer }) => `\\boxed{${answer}}`,
    rewards,
    ...(isCorrect && { isCorrect }),
  });
  const groups = canaryGroups(task, { seed: 3 });
  const size = groups[0]!.canaries.length;
  const all = groups.flatMap(({ problem, canaries }) =>
    canaries.map(({ completion }) => ({ problem, completion })),
  );
  const batch = {
    prompts: all.map(({ problem }) => problem.prompt),
    completions: all.map(({ completion }) => completion),
    rows: all.map(({ problem }) => problem.row),
  };
  const table = await scoreCompletions(task.rewards, batch, { onError: 'drop' });
  return gradeCanaries(task, groups, table, { size, isPart });
}

const wrongKinds = (canaries: readonly GradedCanary[]) => [
  ...new Set(canaries.filter(isWrong).map(({ kind }) => kind)),
];

describe('what is wrong', () => {
  it.each<[string, Score, string[]]>([
    ['nothing of an exact grader', (text, row) => Number(exact(text, row)), []],
    ['nothing of a lenient one', (text, { answer }) => Number(text.includes(`{${answer}}`)), []],
    [
      'blanks that are in every answer',
      (text, row) => Number(row.answer.includes(text.trim()) || exact(text, row)),
      [CANARY.empty, CANARY.spaces, CANARY.newline],
    ],
    [
      'prompts that hold the answer',
      (text, { answer }) => Number(text.split(/\D+/).filter(Boolean).join() === answer),
      [CANARY.prompt],
    ],
    [
      'all options at once',
      (text, { answer }) => Number(text.split(/[^\d.]+/).includes(answer) && text.includes('boxed')),
      [CANARY.options],
    ],
    [
      'answers of other rows, and whatever is a number',
      (text) => Number(/^\\boxed\{\d+\}$/.test(text)),
      [CANARY.other, CANARY.smaller, CANARY.larger],
    ],
    [
      'a box without answer',
      (text) => Number(/^\\boxed\{\d*\}$/.test(text)),
      [CANARY.format, CANARY.other, CANARY.smaller, CANARY.larger],
    ],
    [
      'numbers that are too small, of a grader that compares in one direction',
      (text, { answer }) =>
        Number(Number(/^\\boxed\{(\d+)\}$/.exec(text)?.[1] ?? Number.NaN) <= Number(answer)),
      [CANARY.other, CANARY.smaller],
    ],
    [
      'answers that pay when they are repeated',
      (text, { answer }) => text.split(`{${answer}}`).length - 1,
      [CANARY.repeated],
    ],
    ['right answers that earn least', (text, row) => Number(!exact(text, row)), [CANARY.gold]],
  ])('%s', async (_, reward, kinds) => {
    expect(wrongKinds(await graded({ reward }))).toEqual(kinds);
  });

  it('says nothing of a constant, which is neither too much nor too little', async () => {
    expect(wrongKinds(await graded({ one: () => 1 }))).toEqual([]);
  });

  it('looks at totals, not at a format alone', async () => {
    const rewards = {
      format: { each: () => 1, weight: 0.1 },
      answer: (text: string, row: Sum) => Number(exact(text, row)),
    };
    expect(wrongKinds(await graded(rewards))).toEqual([]);
  });

  it('is one of several rewards that pays blanks, and no penalty or constant', async () => {
    const answer: Score = (text, row) => 5 * Number(exact(text, row));
    const contained: Score = (text, { answer }) => Number(answer.includes(text.replace(/\D/g, '')));
    const blanks = [CANARY.empty, CANARY.spaces, CANARY.newline];
    expect(wrongKinds(await graded({ answer, contained }))).toEqual(blanks);
    const penalty: Score = (text) => -Number(text.length > 20);
    const long: Score = (text) => Number(text.length === 3 || text.includes('boxed'));
    expect(wrongKinds(await graded({ answer, penalty, one: () => 1, long }))).toEqual([]);
  });

  it('is what the task takes for right', async () => {
    const answer: Score = (text, row) => Number(exact(text, row));
    expect(wrongKinds(await graded({ answer }, { isCorrect: (text) => text.trim() !== '' }))).toEqual([
      CANARY.prompt,
      CANARY.format,
      CANARY.options,
      CANARY.other,
      CANARY.smaller,
      CANARY.larger,
    ]);
    expect(wrongKinds(await graded({ answer }, { isCorrect: () => false }))).toEqual([CANARY.gold]);
  });

  it('is little where the task cannot tell', async () => {
    const boxes: Score = (text) => Number(text.includes('boxed'));
    const brief: Score = (text) => -text.length;
    expect(wrongKinds(await graded({ boxes }, { isCorrect: null }))).toEqual([]);
    expect(wrongKinds(await graded({ brief }, { isCorrect: null }))).toContain(CANARY.empty);
  });

  it('is a right answer on which a reward fails; one without opinion is not', async () => {
    const failing: Score = (text, row) => (exact(text, row) ? Number.NaN : 0);
    const silent: Score = (text, row) => (exact(text, row) ? null : 0);
    expect(wrongKinds(await graded({ failing }))).toEqual([CANARY.gold]);
    expect(wrongKinds(await graded({ silent }))).toEqual([]);
  });

  it('is not what earns as much without a judge', async () => {
    const one: Score = (text) => Number(text.includes('boxed'));
    expect(wrongKinds(await graded({ one }))).toEqual([
      CANARY.format,
      CANARY.options,
      CANARY.other,
      CANARY.smaller,
      CANARY.larger,
    ]);
    expect(wrongKinds(await graded({ one }, { isPart: true }))).toEqual([]);
  });
});

it('names the reward that lifts a canary, and its rule', async () => {
  const canaries = await graded({
    answer: (text, row) => ({ value: Number(exact(text, row)), rule: 'exact' }),
    polite: (text) => ({ value: text === '' ? 2 : 0, rule: 'says nothing rude' }),
  });
  expect(canaries.find(({ kind }) => kind === CANARY.empty)).toMatchObject({
    total: 2,
    values: [0, 2],
    reward: 'polite',
    rule: 'says nothing rude',
  });
  expect(canaries.find(({ kind }) => kind === CANARY.gold)).toMatchObject({
    total: 1,
    reward: 'answer',
    rule: 'exact',
  });
});
