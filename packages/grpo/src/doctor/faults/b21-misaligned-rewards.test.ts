import { expect, it } from 'vitest';
import type { StepRecord } from '../../trace/index.js';
import { AGAIN, offsetsOf } from '../../trace/index.js';
import { outcomeOf, testLogCheck, testStepCheck, times } from '../planted.test.helper.js';
import { all, judgeRun, onRows, penalized } from '../plants.test.helper.js';
import { richRecord } from '../rich-record.test.helper.js';

const parts = { 'rewards/right/mean': times(5, 0.5), 'rewards/form/mean': times(5, 0.8) };

const prompts = (record: StepRecord) => new Set(record.completions!.prompt).size;

/** Values of the first reward, by completion. */
const first = (of: (b: number) => number) => (record: StepRecord) => {
  const B = record.completions!.prompt!.length;
  for (let b = 0; b < B; b++) record.rewards!.values![b] = of(b);
};

testStepCheck('B21.canary', [
  {
    name: 'answers of other rows are paid',
    plant: onRows('gold of another row', 9, { value: 1.1, rule: 'answer: a number' }),
    verdict: 'warn',
    evidence: { text: 'gold of another row', values: { value: 1.1, rule: 'answer: a number' } },
    measured: { probes: 4, wrong: 4 },
  },
  {
    name: 'blanks are paid: not its business',
    plant: onRows('empty', 9, { value: 1.1 }),
    verdict: 'pass',
  },
]);

const again =
  (value: number) =>
  ({ probes }: StepRecord) => {
    for (const canary of probes!.canaries!) if (canary.kind === AGAIN) canary.value = value;
  };

testStepCheck('B21.pairing', [
  {
    name: 'the answer earns nothing in another place',
    plant: again(0),
    verdict: 'warn',
    measured: { wrong: 4 },
  },
  { name: 'the answer earns the same', plant: again(1), verdict: 'pass' },
]);

it('leaves the grader alone where rewards go to other completions', () => {
  const record = richRecord();
  onRows('gold', 1, { value: 0 })(record);
  expect(outcomeOf('B23.canary', record).verdict).toBe('warn');
  again(0)(record);
  expect(outcomeOf('B23.canary', record).verdict).toBe('not applicable');
});

testLogCheck('B21.log', [
  {
    name: 'weights that were not used',
    metrics: { ...parts, reward: times(5, 1.3) },
    declared: { rewardWeights: [1, 0.2] },
    verdict: 'warn',
    evidence: { values: { reward: 1.3 } },
  },
  {
    name: 'less than the sum, as where functions leave completions out',
    metrics: { ...parts, reward: times(5, 0.4) },
    declared: { rewardWeights: [1, 0.2] },
    verdict: 'inform',
    measured: { mayLack: true },
  },
  {
    name: 'the weighted sum',
    metrics: { ...parts, reward: times(5, 0.66) },
    declared: { rewardWeights: [1, 0.2] },
    verdict: 'pass',
  },
  {
    name: 'the weighted sum, in a log that sorts the names',
    metrics: { ...parts, reward: times(5, 0.66) },
    declared: { rewardWeights: [0.2, 1] },
    verdict: 'pass',
  },
  {
    name: 'a version that logs it without weights',
    metrics: { ...parts, reward: times(5, 1.3) },
    declared: { rewardWeights: [1, 0.2] },
    series: { rewardIsWeighted: false },
    verdict: 'not applicable',
  },
  { name: 'weights not known', metrics: { ...parts, reward: times(5, 1.3) }, verdict: 'not applicable' },
]);

testStepCheck('B21.cycled', [
  {
    name: 'one value a prompt, in turn',
    plant: (record) => first((b) => (b % prompts(record)) / 10)(record),
    verdict: 'warn',
    evidence: { values: { period: 6 } },
  },
  { name: 'one value for all', plant: first(() => 0.5), verdict: 'pass' },
  { name: 'nearly in turn', plant: first((b) => (b === 20 ? 9 : (b % 6) / 10)), verdict: 'pass' },
]);

/** Scored completions in another order: that of the places. */
const reordered = (placeOf: (b: number) => number) => (record: StepRecord) => {
  const { ids, lengths } = record.completions!;
  const offsets = offsetsOf(lengths!);
  const rows = Array.from(lengths!, (_, b) => {
    const place = placeOf(b);
    return ids!.subarray(offsets[place]!, offsets[place + 1]!);
  });
  record.scored!.ids = Int32Array.from(rows.flatMap((row) => [...row]));
  record.scored!.lengths = Int32Array.from(rows, ({ length }) => length);
};

testStepCheck('B21.rows', [
  {
    name: 'the last completion first',
    plant: reordered((b) => (b + 23) % 24),
    verdict: 'fail',
    measured: { row: 0, is: 23 },
    evidence: { completion: 0 },
  },
  { name: 'each at its place', plant: reordered((b) => b), verdict: 'pass' },
  {
    name: 'one that was made anew',
    plant: all(
      reordered((b) => (b + 23) % 24),
      ({ scored }: StepRecord) => {
        scored!.ids![0] = 3;
      },
    ),
    verdict: 'pass',
  },
]);

testStepCheck('B21.totals', [
  {
    name: 'one value broadcast',
    plant: ({ rewards }) => void rewards!.totals!.fill(0.9),
    verdict: 'fail',
    evidence: { completion: 0, values: { total: 0.9, sum: 0.5 } },
  },
  {
    name: 'one function had nothing to say',
    plant: ({ rewards }) => {
      rewards!.names = ['right', 'form'];
      rewards!.weights = [1, 2];
      rewards!.values = Float64Array.from([...rewards!.values!, ...rewards!.values!.map(() => Number.NaN)]);
    },
    verdict: 'pass',
  },
  {
    name: 'float32 sums',
    plant: ({ rewards }) => {
      rewards!.totals = rewards!.totals!.map(Math.fround);
    },
    verdict: 'pass',
  },
]);

testStepCheck('B21.alike', [
  { name: 'a KL in the rewards', plant: penalized, verdict: 'pass' },
  {
    name: 'equal completions with other rewards',
    plant: ({ rewards }) => {
      rewards!.totals = rewards!.totals!.map((_, b) => b / 10);
    },
    verdict: 'warn',
    evidence: { completion: 1, values: { equals: 0 } },
  },
  {
    name: 'a judge that wavers once',
    plant: ({ rewards }) => {
      rewards!.totals![3] = 0.6;
    },
    verdict: 'pass',
  },
]);

/** All completions end in the answer of their prompt, and the first reward pays those that a grader takes for right. */
const graded = (isPaid: (b: number, prompt: number, prompts: number) => boolean) => (record: StepRecord) => {
  const { completions, prompts: own } = record;
  const count = prompts(record);
  own!.answers = Array.from({ length: count }, (_, p) => String(100 + p));
  completions!.texts = Array.from(completions!.prompt!, (p) => `It is ${100 + p}.`);
  first((b) => Number(isPaid(b, completions!.prompt![b]!, count)))(record);
};

testStepCheck('B21.answers', [
  {
    name: 'answers taken in turn, completions group by group',
    plant: graded((b, p, P) => b % P === p),
    verdict: 'warn',
    measured: { order: 'taken in turn' },
  },
  { name: 'a right grader', plant: graded((b) => b >= 0), verdict: 'pass' },
  {
    name: 'a strict one, which pays one answer of each group',
    plant: graded((b) => b % 4 === 0),
    verdict: 'pass',
  },
  { name: 'one that pays two alone', plant: graded((b) => b < 2), verdict: 'pass' },
]);

it('needs B21.answers to pay what it says, not only to be off by few of many', () => {
  const [P, G] = [16, 4];
  const prompt = Int32Array.from({ length: P * G }, (_, b) => Math.floor(b / G));
  const texts = Array.from(prompt, (p, b) => `It is ${b === 0 || b === 8 ? p + 1 : p}.`);
  const record = (paid: readonly number[]): StepRecord => ({
    ...richRecord(),
    prompts: { answers: Array.from({ length: P }, (_, p) => String(p)) },
    completions: { prompt, texts },
    rewards: {
      names: ['short'],
      weights: [1],
      values: Float64Array.from(prompt, (_, b) => Number(paid.includes(b))),
    },
  });
  // Two of 64 end in the answer of the next prompt.
  expect(outcomeOf('B21.answers', record([0, 8]))).toMatchObject({ verdict: 'warn' });
  expect(outcomeOf('B21.answers', record([0]))).toMatchObject({ verdict: 'pass' });
  expect(outcomeOf('B21.answers', record([0, 8, 20]))).toMatchObject({ verdict: 'pass' });
});

it('B21.orders adds up steps that show too little by themselves', () => {
  const [P, G] = [4, 6];
  const prompt = Int32Array.from({ length: P * G }, (_, b) => Math.floor(b / G));
  const answerOf = (step: number, p: number) => `${100 * step + 7 * p}`;
  /** Completions 1, 8 and 15 hold the answer of the prompt that their turn names, 5 and 11 that of their own. */
  const texts = (step: number) =>
    Array.from(prompt, (p, b) => {
      const named = [1, 8, 15].includes(b) ? b % P : [5, 11].includes(b) ? p : undefined;
      return named === undefined ? 'no idea' : `it is ${answerOf(step, named)} or 3`;
    });
  const record = (step: number, isPaid: (b: number) => boolean): StepRecord => ({
    ...richRecord({ step }),
    prompts: { answers: Array.from({ length: P }, (_, p) => answerOf(step, p)) },
    completions: { prompt, texts: texts(step) },
    rewards: { names: ['hit'], weights: [1], values: Float64Array.from(prompt, (_, b) => Number(isPaid(b))) },
  });
  const steps = (count: number, isPaid: (b: number, step: number) => boolean) =>
    Array.from({ length: count }, (_, i) => record(i + 1, (b) => isPaid(b, i)));
  const inTurn = (b: number) => [1, 8, 15].includes(b);
  expect(outcomeOf('B21.answers', record(1, inTurn))).toMatchObject({ verdict: 'pass' });
  expect(judgeRun('B21.orders', steps(4, inTurn))).toMatchObject({
    severity: 'warn',
    measured: { order: 'taken in turn', reading: 'contain' },
  });
  // One step that pays otherwise is enough.
  const but = (b: number, step: number) => (step === 2 ? [5, 11].includes(b) : inTurn(b));
  expect(judgeRun('B21.orders', steps(4, but))).toMatchObject({ verdict: 'pass' });
  expect(
    judgeRun(
      'B21.orders',
      steps(4, (b) => [5, 11].includes(b)),
    ),
  ).toMatchObject({ verdict: 'pass' });
});

testStepCheck('B21.names', [
  {
    name: 'one name for two',
    plant({ rewards }) {
      rewards!.names = ['reward', 'reward'];
    },
    verdict: 'warn',
    measured: { name: 'reward' },
  },
  { name: 'names of their own', plant: () => {}, verdict: 'pass' },
]);
