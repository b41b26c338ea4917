import { cutScored, startOf, testStepCheck } from '../planted.test.helper.js';

testStepCheck('B10.cut', [
  {
    name: 'completions that begin with their prompt’s end',
    plant: ({ completions, prompts }) => {
      let [at, promptAt] = [0, 0];
      for (const [b, length] of completions!.lengths!.entries()) {
        const p = completions!.prompt![b]!;
        promptAt = prompts!.lengths!.slice(0, p + 1).reduce((x, y) => x + y, 0);
        if (length > 9) completions!.ids!.set(prompts!.ids!.slice(promptAt - 9, promptAt), at);
        at += length;
      }
    },
    verdict: 'warn',
    evidence: { completion: 8, values: { repeated: 9 } },
  },
]);

testStepCheck('B10.length', [
  {
    name: 'longer than allowed',
    plant: ({ declared }) => {
      declared!.maxNewTokens = 10;
    },
    verdict: 'fail',
    evidence: { completion: 8 },
  },
  {
    name: 'several turns that are each short enough',
    plant: (record) => {
      record.declared!.maxNewTokens = 30;
      for (let b = 8; b < 24; b++) record.completions!.source![startOf(record, b) + 15] = 1;
    },
    verdict: 'pass',
  },
  {
    name: 'no limit declared',
    plant: ({ declared }) => {
      delete declared!.maxNewTokens;
    },
    verdict: 'not applicable',
  },
]);

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

testStepCheck('B14.beyond', [
  {
    name: 'trailing padding is scored',
    plant: (record) => {
      const { completions } = record;
      completions!.lengths![23]! -= 3;
      completions!.ids = completions!.ids!.slice(0, -3);
    },
    verdict: 'fail',
    evidence: { completion: 23, values: { extra: 3 } },
  },
]);

testStepCheck('B37.scored', [
  {
    name: 'only the first token is scored',
    plant: (record) => cutScored(record, 17, 1),
    verdict: 'fail',
    evidence: { completion: 17, values: { scored: 1 } },
  },
  {
    name: 'the end token alone is missing',
    plant: (record) => cutScored(record, 17, record.scored!.lengths![17]! - 1),
    verdict: 'pass',
  },
  { name: 'left out as a whole', plant: (record) => cutScored(record, 17, 0), verdict: 'pass' },
]);

testStepCheck('B45.empty', [
  {
    name: 'everything is masked',
    plant: ({ scored }) => void scored!.mask!.fill(0),
    verdict: 'fail',
    measured: { empty: 24 },
  },
  {
    name: 'everything was cut off, and is masked as declared',
    plant: ({ scored, completions, declared }) => {
      scored!.mask!.fill(0);
      completions!.finish!.fill('length');
      declared!.maskTruncated = true;
    },
    verdict: 'warn',
    measured: { truncated: true },
  },
  {
    name: 'nothing to learn',
    plant: ({ scored, advantages }) => {
      scored!.mask!.fill(0);
      advantages!.fill(0);
    },
    verdict: 'not applicable',
  },
]);
