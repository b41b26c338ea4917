import type { StepRecord } from '../../trace/index.js';
import { startOf, testLogCheck, testStepCheck, times } from '../planted.test.helper.js';

const cut = 'completions/clipped_ratio';

testStepCheck('B16.after-end', [
  {
    name: 'text after an end token',
    plant: (record) => {
      record.completions!.ids![startOf(record, 12) + 6] = 49;
    },
    verdict: 'fail',
    evidence: { completion: 12, token: 6 },
  },
  {
    name: 'a tool answers after an end token',
    plant: (record) => {
      const at = startOf(record, 12) + 6;
      record.completions!.ids![at] = 49;
      record.completions!.source!.fill(1, at + 1, at + 4);
    },
    verdict: 'pass',
  },
  {
    name: 'the template closes a tool’s answer, and the model goes on',
    plant: (record) => {
      const at = startOf(record, 12) + 6;
      record.completions!.ids![at] = 49;
      record.completions!.source!.fill(2, at, at + 1);
    },
    verdict: 'pass',
  },
]);

/** Without stop strings; completion 3 and 4 end in a token. */
const endingIn = (id: number) => (record: StepRecord) => {
  record.declared!.stop = [];
  const { ids, finish, lengths } = record.completions!;
  for (const b of lengths!.keys()) {
    const last = startOf(record, b + 1) - 1;
    if (b === 3 || b === 4) ids![last] = id;
    finish![b] = b === 3 || b === 4 || [48, 49].includes(ids![last]!) ? 'stop' : 'length';
  }
};

testStepCheck('B16.other', [
  {
    name: 'two that end in another token',
    plant: endingIn(3),
    verdict: 'warn',
    measured: { other: 2 },
    evidence: { completion: 3, values: { id: 3 } },
  },
  {
    name: 'two that the clock ends',
    plant: (record) => {
      endingIn(3)(record);
      record.settings = { stoppingCriteria: ['MaxLengthCriteria', 'MaxTimeCriteria', 'EosTokenCriteria'] };
    },
    verdict: 'warn',
    measured: { other: 2, by: 'MaxTimeCriteria' },
  },
  { name: 'all that end in an end token', plant: endingIn(49), verdict: 'pass' },
  { name: 'stop strings', plant: () => {}, verdict: 'not applicable' },
]);

testStepCheck('B16.cut', [
  {
    name: 'all cut off',
    plant: ({ completions }) => {
      completions!.finish!.fill('length');
    },
    verdict: 'inform',
    measured: { share: 1 },
  },
]);

testStepCheck('B16.suppressed', [
  {
    name: 'the end forbidden for most of the room',
    plant: ({ declared, completions }) => {
      declared!.rollout!.minNewTokens = 60;
      completions!.finish!.fill('length');
    },
    verdict: 'warn',
  },
  {
    name: 'completions that end all the same',
    plant: ({ declared }) => {
      declared!.rollout!.minNewTokens = 60;
    },
    verdict: 'pass',
  },
]);

testLogCheck('B16.log', [
  {
    name: 'all cut off from the start',
    metrics: { [cut]: times(6, 1) },
    verdict: 'warn',
    measured: { start: 1, mean: 1 },
  },
  {
    name: 'cut off until it has learnt to end',
    metrics: { [cut]: [...times(10, 1), ...times(20, 0.1)] },
    verdict: 'pass',
  },
  {
    name: 'cut off in the end: it grew',
    metrics: { [cut]: times(40, (i) => Math.min(1, i / 30)) },
    verdict: 'pass',
  },
  {
    name: 'answers of one token, as declared',
    metrics: { [cut]: times(6, 1) },
    declared: { rollout: { maxNewTokens: 1 } },
    verdict: 'not applicable',
  },
]);

/** Completions of these lengths, the first of them cut. */
const cutAt =
  (lengths: readonly number[], count: number) =>
  ({ completions, declared }: StepRecord) => {
    declared!.rollout = { ...declared!.rollout, maxNewTokens: 40 };
    completions!.lengths = completions!.lengths!.map((_, b) => lengths[b] ?? 10);
    completions!.finish = completions!.finish!.map((_, b) => (b < count ? 'length' : 'stop'));
  };

testStepCheck('B16.short', [
  { name: 'three at 24 of 40', plant: cutAt([24, 24, 24], 3), verdict: 'warn', measured: { cut: 3, at: 24 } },
  { name: 'three at the limit', plant: cutAt([40, 40, 40], 3), verdict: 'pass' },
  { name: 'two', plant: cutAt([24, 24], 2), verdict: 'pass' },
  { name: 'at different lengths, as contexts leave', plant: cutAt([24, 23, 24], 3), verdict: 'pass' },
  { name: 'beside a longer one', plant: cutAt([24, 24, 24, 30], 3), verdict: 'pass' },
]);
