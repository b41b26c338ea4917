import { expect } from 'vitest';
import type { StepRecord } from '../../trace/index.js';
import { cutScored, startOf, testLogCheck, testStepCheck, times } from '../planted.test.helper.js';
import { all, declare } from '../plants.test.helper.js';

testStepCheck('B11.mask', [
  {
    name: 'the first tokens of a completion left out',
    plant: (record) => {
      record.scored!.mask!.fill(0, startOf(record, 14), startOf(record, 14) + 2);
    },
    verdict: 'fail',
    evidence: { completion: 14, token: 0 },
  },
  {
    name: 'a tool’s answer trained on',
    plant: (record) => {
      record.completions!.source![startOf(record, 20) + 7] = 1;
    },
    verdict: 'fail',
    evidence: { completion: 20, token: 7, values: { mask: 1 } },
  },
  {
    name: 'a tool’s answer left out',
    plant: (record) => {
      record.completions!.source![startOf(record, 20) + 7] = 1;
      record.scored!.mask![startOf(record, 20) + 7] = 0;
    },
    verdict: 'pass',
  },
  {
    name: 'a wrong mask of a completion that lost its end token too',
    plant: (record) => {
      cutScored(record, 10, record.scored!.lengths![10]! - 1);
      record.scored!.mask![startOf(record, 10) + 1] = 0;
    },
    verdict: 'fail',
    evidence: { completion: 10, token: 1 },
  },
  {
    name: 'a completion that was cut off, masked as a whole',
    plant: (record) => {
      record.scored!.mask!.fill(0, startOf(record, 14), startOf(record, 15));
    },
    verdict: 'pass',
  },
]);

const emptied =
  (...completions: number[]) =>
  (record: StepRecord): void => {
    for (const b of completions) record.scored!.mask!.fill(0, startOf(record, b), startOf(record, b + 1));
  };

const ended = ({ completions }: StepRecord) => void completions!.finish!.fill('stop');

testStepCheck('B11.empty', [
  {
    name: 'some completions that ended, without a token in the loss',
    plant: all(ended, emptied(9, 13)),
    verdict: 'fail',
    evidence: { completion: 9 },
    measured: { judged: 16, empty: 2 },
  },
  {
    name: 'no token in the loss at all, which another check names',
    plant: all(ended, ({ scored }) => void scored!.mask!.fill(0)),
    verdict: 'not applicable',
  },
  { name: 'completions without an advantage', plant: all(ended, emptied(0, 1)), verdict: 'pass' },
  {
    name: 'a truncated one, though truncated ones are not declared to be masked',
    plant: (record) => {
      record.completions!.finish![10] = 'length';
      emptied(10)(record);
    },
    verdict: 'fail',
    measured: { empty: 1 },
  },
  {
    name: 'truncated ones that are declared to be masked',
    plant: all(emptied(10, 14), declare({ objective: { maskTruncated: true } }), ({ completions }) => {
      for (const b of [10, 14]) completions!.finish![b] = 'length';
    }),
    verdict: 'pass',
  },
  {
    name: 'truncated ones, and nobody says what becomes of them',
    plant: (record) => {
      delete record.declared!.objective!.maskTruncated;
      record.completions!.finish!.fill('length');
      emptied(10, 14)(record);
    },
    verdict: 'not applicable',
  },
  {
    name: 'those that a threshold leaves out',
    plant: all(ended, declare({ objective: { offPolicyThreshold: 0.1 } }), (record) => {
      const negative = [...record.advantages!.keys()].filter((b) => record.advantages![b]! < 0);
      emptied(...negative)(record);
    }),
    verdict: 'pass',
  },
  {
    name: 'those of which no token is of high entropy',
    plant: all(ended, emptied(9, 13), declare({ entropy: { topShare: 0.2 } })),
    verdict: 'not applicable',
  },
  {
    name: 'those of equal rewards, whose mean was rounded',
    plant: all(ended, emptied(9, 13), (record) => {
      for (const b of [9, 13]) record.advantages![b] = 1e-9;
    }),
    verdict: 'pass',
    measured: { judged: 14 },
  },
  {
    name: 'one that is in no update',
    plant: (record) => {
      ended(record);
      emptied(23)(record);
      for (const update of record.updates!) update.completions = Int32Array.from({ length: 23 }, (_, b) => b);
    },
    verdict: 'pass',
  },
]);

const lengths = times(20, (i) => 40 + 3 * (i % 7));
const inLoss = (tokens: (length: number, i: number) => number) => ({
  'loss/tokens': lengths.map(tokens),
  'completions/mean_length': lengths,
});

testLogCheck('B11.log', [
  { name: 'the tokens of the completions', metrics: inLoss((length) => 64 * length), verdict: 'pass' },
  { name: 'an end token more for each', metrics: inLoss((length) => 64 * (length + 1)), verdict: 'pass' },
  {
    name: 'the tokens of the prompts too',
    metrics: inLoss((length) => 64 * (length + 30)),
    verdict: 'warn',
    measured: { more: expect.closeTo(30) },
  },
  {
    name: 'one token of each completion left out',
    metrics: inLoss((length) => 64 * (length - 1)),
    verdict: 'warn',
    measured: { more: expect.closeTo(-1) },
  },
  {
    name: 'tokens that hardly change with lengths that hardly change',
    metrics: {
      'loss/tokens': times(400, (i) => 4096 + 10 * (0.3 * Math.sin(i) + Math.cos(3 * i))),
      'completions/mean_length': times(400, (i) => 64 + Math.sin(i)),
    },
    verdict: 'pass',
  },
  { name: 'as many tokens in every step', metrics: inLoss(() => 4096), verdict: 'warn' },
  {
    name: 'tokens of some of the completions, more or fewer of them',
    metrics: inLoss((length, i) => (30 + 10 * (i % 4)) * length),
    verdict: 'pass',
  },
  {
    name: 'completions of one length',
    metrics: { 'loss/tokens': times(20, 4096), 'completions/mean_length': times(20, 64) },
    verdict: 'not applicable',
  },
]);
