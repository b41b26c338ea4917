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
