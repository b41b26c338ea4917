import { expect } from 'vitest';
import type { StepRecord } from '../../trace/index.js';
import { testLogCheck, testStepCheck, times } from '../planted.test.helper.js';

testLogCheck('B58.log', [
  {
    name: 'training up, evaluation down',
    metrics: { reward: times(12, (i) => i + (i % 2)), eval_reward: times(12, (i) => -i + (i % 3)) },
    verdict: 'warn',
  },
  {
    name: 'an evaluation that is lost at once',
    metrics: { reward: times(6, (i) => i + (i % 2)), eval_reward: [0.62, 0.07, 0.01, 0, 0, 0.01] },
    verdict: 'warn',
  },
  {
    name: 'a lucky first evaluation of few problems',
    metrics: { reward: times(6, (i) => i + (i % 2)), eval_reward: [0.2, 0.05, 0.1, 0.05, 0.1, 0.1] },
    verdict: 'pass',
  },
  {
    name: 'a noisy evaluation',
    metrics: { reward: times(6, (i) => i + (i % 2)), eval_reward: [0.5, 0.46, 0.52, 0.47, 0.45, 0.48] },
    verdict: 'pass',
  },
]);

/** Evaluations at both ends of a log of 16 steps, with their intervals. */
const ends = (first: [number, number, number], last: [number, number?, number?], problems = 40) => {
  const column = (k: number) => times(16, (i) => (i === 0 ? first[k]! : i === 15 ? last[k] : undefined));
  return {
    eval_reward: column(0),
    'eval_greedy/rewardLow': column(1),
    'eval_greedy/rewardHigh': column(2),
    eval_problems: times(16, (i) => (i % 15 === 0 ? problems : undefined)),
  } as Record<string, number[]>;
};
const still = times(16, (i) => 0.3 + 0.01 * (i % 3));
const rising = times(16, (i) => 0.3 + 0.04 * i + 0.01 * (i % 3));

testLogCheck('B58.held-out', [
  {
    name: 'a fall beyond its intervals',
    metrics: { reward: still, ...ends([0.49, 0.33, 0.65], [0.2, 0.15, 0.25]) },
    verdict: 'warn',
    measured: { fell: true },
  },
  {
    name: 'a fall within them',
    metrics: { reward: still, ...ends([0.3, 0.2, 0.4], [0.25, 0.15, 0.35]) },
    verdict: 'pass',
  },
  {
    name: 'a fall to rewards that are all one, which have no interval: a few others may have been missed',
    metrics: { reward: still, ...ends([0.3, 0.108, 0.492], [0.1], 20) },
    verdict: 'pass',
  },
  {
    name: 'problems that are learnt by heart',
    metrics: { reward: rising, ...ends([0.28, 0.2, 0.36], [0.28, 0.2, 0.36]) },
    verdict: 'warn',
    measured: { fell: false },
  },
  {
    name: 'harder problems than those of training',
    metrics: { reward: rising, ...ends([0.1, 0.05, 0.15], [0.15, 0.08, 0.22]) },
    verdict: 'pass',
  },
  {
    name: 'held-out problems that are learnt as well',
    metrics: { reward: rising, ...ends([0.28, 0.2, 0.36], [0.8, 0.7, 0.9]) },
    verdict: 'pass',
  },
  {
    name: 'problems of another kind, which are learnt by half',
    metrics: { reward: rising, ...ends([0.1, 0.05, 0.15], [0.35, 0.25, 0.45]) },
    verdict: 'pass',
  },
  {
    name: 'few problems',
    metrics: { reward: still, ...ends([0.9, 0.8, 1], [0.2, 0.15, 0.25], 4) },
    verdict: 'not applicable',
  },
]);

testLogCheck('B58.still', [
  {
    name: 'evaluations of the first weights',
    metrics: { reward: times(12, (i) => i + (i % 2)), eval_reward: times(12, 0.4375) },
    verdict: 'warn',
    measured: { evaluations: 12, value: 0.4375 },
  },
  {
    name: 'evaluations that differ once',
    metrics: {
      reward: times(12, (i) => i + (i % 2)),
      eval_reward: times(12, (i) => (i < 11 ? 0.4375 : 0.5)),
    },
    verdict: 'pass',
  },
  {
    name: 'a policy that stands still',
    metrics: { reward: times(12, (i) => i % 3), eval_reward: times(12, 0.4375) },
    verdict: 'pass',
  },
  {
    name: 'evaluations in which all is right',
    metrics: { reward: times(12, (i) => i + (i % 2)), eval_reward: times(12, 1) },
    verdict: 'pass',
  },
]);

const apart = (training: (i: number) => number, evaluation: (i: number) => number) => ({
  'rewards/answer/mean': times(30, training),
  'eval_rewards/answer/mean': times(30, (i) => (i % 5 ? undefined : evaluation(i))),
});

const twoEvaluations = (evaluated: number) => ({
  reward: times(12, () => 0.5),
  'rewards/right/mean': times(12, (i) => 0.5 + 0.01 * (i % 3)),
  'eval_rewards/right/mean': times(12, (i) => (i % 4 === 3 ? evaluated : undefined)),
});

testLogCheck('B58.apart', [
  {
    name: 'three evaluations of nothing',
    metrics: twoEvaluations(0.01),
    verdict: 'warn',
    measured: { isFromStart: true },
  },
  { name: 'three that are lower', metrics: twoEvaluations(0.15), verdict: 'pass' },
  {
    name: 'evaluation a little below training',
    metrics: apart(
      (i) => 0.3 + i / 60,
      (i) => 0.25 + i / 90,
    ),
    verdict: 'pass',
  },
  {
    name: 'answers that are shuffled in evaluation',
    metrics: apart(
      (i) => 0.3 + i / 60,
      () => 0.01,
    ),
    verdict: 'warn',
    measured: { isFromStart: true },
  },
  {
    name: 'problems that are learnt by heart',
    metrics: apart(
      (i) => 0.3 + i / 60,
      () => 0.25,
    ),
    verdict: 'warn',
    measured: { isFromStart: false },
  },
  {
    name: 'what is hardly earned in training either',
    metrics: apart(
      () => 0.05,
      () => 0,
    ),
    verdict: 'pass',
  },
]);

testLogCheck('B58.lost', [
  {
    name: 'far below all before it',
    metrics: { eval_reward: [0.677, 0.677, 0.71, 0.687, 0.378] },
    verdict: 'warn',
    evidence: { step: 5, values: { value: 0.378 } },
    measured: { from: 0.71 },
  },
  {
    name: 'an eighth less for good, where the noise is known',
    metrics: { eval_reward: [0.75, 0.758, 0.758, 0.75, 0.758, 0.762, 0.758, 0.76, 0.66, 0.655] },
    verdict: 'warn',
    measured: { to: expect.closeTo(0.6575) },
  },
  {
    name: 'a penalty that is larger by a twentieth',
    metrics: { eval_reward: [-0.4, -0.401, -0.4, -0.401, -0.4, -0.401, -0.42, -0.421, -0.42, -0.421] },
    verdict: 'pass',
  },
  { name: 'back where it began', metrics: { eval_reward: [0.3, 0.5, 0.7, 0.8, 0.4] }, verdict: 'pass' },
  { name: 'lower by a tenth', metrics: { eval_reward: [0.7, 0.71, 0.69, 0.7, 0.6] }, verdict: 'pass' },
  { name: 'four of them', metrics: { eval_reward: [0.7, 0.7, 0.7, 0.2] }, verdict: 'not applicable' },
]);

const bestBy =
  (metric: string, greaterIsBetter: boolean, lowersRate = false) =>
  (record: StepRecord) => {
    record.probes!.bestBy = { metric, greaterIsBetter, lowersRate };
  };

testStepCheck('B58.best', [
  { name: 'the loss', plant: bestBy('loss', false), verdict: 'warn', measured: { isLoss: true } },
  { name: 'the loss of an evaluation', plant: bestBy('eval_held_loss', false), verdict: 'warn' },
  {
    name: 'the least reward',
    plant: bestBy('eval_reward', false),
    verdict: 'warn',
    measured: { isLoss: false },
  },
  {
    name: 'a rate that is lowered where the reward has not fallen',
    plant: bestBy('eval_reward', false, true),
    verdict: 'warn',
    measured: { lowersRate: true },
  },
  { name: 'the greatest reward', plant: bestBy('eval_reward', true), verdict: 'pass' },
  { name: 'the least length', plant: bestBy('eval_completions/mean_length', false), verdict: 'pass' },
]);

const counted = { step: 1, decoding: 'greedy', total: 40, correct: 33, tokens: 990 };
const told = (correct: number, meanLength: number) => ({
  'eval_greedy/total': [40],
  'eval_greedy/correct': [correct],
  'eval_greedy/meanLength': [meanLength],
});

testLogCheck('B58.counted', [
  {
    name: 'the scores of another evaluation',
    metrics: told(17, 24.175),
    series: { evaluations: [counted] },
    verdict: 'fail',
    measured: { row: 17, counted: 33, off: 2 },
  },
  { name: 'a length of its own', metrics: told(33, 24), series: { evaluations: [counted] }, verdict: 'fail' },
  { name: 'its own', metrics: told(33, 24.75), series: { evaluations: [counted] }, verdict: 'pass' },
  {
    name: 'more rows than the evaluation has, as a run that was killed leaves them',
    metrics: told(17, 24.75),
    series: { evaluations: [{ ...counted, total: 43 }] },
    verdict: 'not applicable',
  },
]);

const unlike = (count: number) => (record: StepRecord) => {
  record.probes!.heldOut = { prompts: 40, trained: 0, unlike: count };
};

testStepCheck('B58.unlike', [
  { name: 'all of them', plant: unlike(40), verdict: 'warn', measured: { unlike: 40 } },
  { name: 'two of forty', plant: unlike(2), verdict: 'inform' },
  { name: 'none', plant: unlike(0), verdict: 'pass' },
]);

const answered =
  (distinct: number, least: number, rows = 16) =>
  (record: StepRecord) => {
    const answers = { rows, distinct, least, answer: '-1', has: 6 };
    record.probes!.heldOut = { prompts: rows, trained: 0, answers };
  };

testStepCheck('B58.answers', [
  {
    name: 'fewer than any draw of the training data',
    plant: answered(4, 7),
    verdict: 'warn',
    measured: { rows: 16, distinct: 4, least: 7 },
    evidence: { text: '-1' },
  },
  { name: 'as few as draws may have', plant: answered(7, 7), verdict: 'pass' },
  { name: 'of few rows', plant: answered(1, 3, 7), verdict: 'not applicable' },
]);

const golds =
  (...of: readonly (readonly [unpaid: number, heldOut?: true])[]) =>
  ({ probes }: StepRecord) => {
    probes!.golds = of.map(([unpaid, heldOut]) => ({
      reward: 'right',
      graded: 12,
      unpaid,
      ...(unpaid > 0 && { answer: '7' }),
      ...(heldOut && { heldOut }),
    }));
  };

testStepCheck('B58.golds', [
  {
    name: 'held-out answers alone unpaid',
    plant: golds([1], [12, true]),
    verdict: 'warn',
    measured: { unpaid: 12 },
  },
  { name: 'both paid', plant: golds([0], [1, true]), verdict: 'pass' },
  {
    name: 'both unpaid, which is no matter of the evaluation',
    plant: golds([9], [9, true]),
    verdict: 'pass',
  },
  { name: 'no held-out rows', plant: golds([0]), verdict: 'not applicable' },
]);
