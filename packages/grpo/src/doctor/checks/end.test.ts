import type { StepRecord } from '../../trace/index.js';
import { cutScored, startOf, testStepCheck } from '../planted.test.helper.js';
import { PAD } from '../rich-record.test.helper.js';

/** Puts a mask value at a token of a completion. */
const mask = (record: StepRecord, completion: number, token: number, value: number) => {
  record.scored!.mask![startOf(record, completion) + token] = value;
};
const last = (record: StepRecord, completion: number) => record.scored!.lengths![completion]! - 1;

/** A long completion that the token closed. */
const closedBy = (record: StepRecord, end: number): number =>
  record.scored!.lengths!.findIndex(
    (length, b) => length > 3 && record.completions!.ids![startOf(record, b) + last(record, b)] === end,
  );

testStepCheck('B08.end', [
  {
    name: 'the end token is masked',
    plant: (record) => mask(record, closedBy(record, 49), last(record, closedBy(record, 49)), 0),
    verdict: 'fail',
    evidence: { completion: 10 },
  },
  {
    name: 'the end token is not scored',
    plant: (record) => cutScored(record, 1, 2),
    verdict: 'fail',
    evidence: { completion: 1, token: 2 },
  },
  {
    name: 'a completion masked as a whole',
    plant: (record) => {
      for (let t = 0; t <= last(record, 10); t++) mask(record, 10, t, 0);
    },
    verdict: 'pass',
  },
  {
    name: 'the end token is of the template',
    plant: (record) => {
      record.completions!.source![startOf(record, 11) - 1] = 2;
      mask(record, 10, last(record, 10), 0);
    },
    verdict: 'pass',
  },
  {
    name: 'the lost end token is the padding: another fault',
    plant: (record) => mask(record, closedBy(record, PAD), last(record, closedBy(record, PAD)), 0),
    verdict: 'pass',
  },
]);

testStepCheck('B12.padding', [
  {
    name: 'the end token that is the padding is masked',
    plant: (record) => mask(record, 9, last(record, 9), 0),
    verdict: 'fail',
    evidence: { completion: 9 },
    measured: { pad: PAD },
  },
  {
    name: 'padding is no end token',
    plant: ({ tokenizer }) => {
      tokenizer!.padId = 5;
    },
    verdict: 'not applicable',
  },
]);

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
      declared!.minNewTokens = 60;
      completions!.finish!.fill('length');
    },
    verdict: 'warn',
  },
  {
    name: 'completions that end all the same',
    plant: ({ declared }) => {
      declared!.minNewTokens = 60;
    },
    verdict: 'pass',
  },
]);
