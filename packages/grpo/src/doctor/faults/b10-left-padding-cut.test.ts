import type { StepRecord } from '../../trace/index.js';
import { startOf, testStepCheck } from '../planted.test.helper.js';

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

const endOf = ({ prompts, completions }: StepRecord, b: number, length: number) =>
  prompts!.texts![completions!.prompt![b]!]!.slice(-length);

testStepCheck('B10.text', [
  {
    name: 'texts that begin with their prompt’s end',
    plant: (record) => {
      const { texts } = record.completions!;
      for (const b of [1, 5, 9]) texts![b] = endOf(record, b, 9) + texts![b];
    },
    verdict: 'warn',
    evidence: { completion: 1, values: { repeated: 9 } },
  },
  {
    name: 'texts that begin with a shorter end',
    plant: (record) => {
      const { texts } = record.completions!;
      for (const b of texts!.keys()) texts![b] = endOf(record, b, 4) + texts![b];
    },
    verdict: 'pass',
  },
  {
    name: 'a model that repeats the prompt’s end',
    plant: (record) => {
      const { texts, ids, prompt } = record.completions!;
      const { lengths } = record.prompts!;
      for (const b of texts!.keys()) {
        const end = lengths!.slice(0, prompt![b]! + 1).reduce((x, y) => x + y, 0);
        ids![startOf(record, b)] = record.prompts!.ids![end - 1]!;
        texts![b] = endOf(record, b, 9) + texts![b];
      }
    },
    verdict: 'pass',
  },
]);

testStepCheck('B10.length', [
  {
    name: 'longer than allowed',
    plant: ({ declared }) => {
      declared!.rollout!.maxNewTokens = 10;
    },
    verdict: 'fail',
    evidence: { completion: 8 },
  },
  {
    name: 'several turns that are each short enough',
    plant: (record) => {
      record.declared!.rollout!.maxNewTokens = 30;
      for (let b = 8; b < 24; b++) record.completions!.source![startOf(record, b) + 15] = 1;
    },
    verdict: 'pass',
  },
  {
    name: 'no limit declared',
    plant: ({ declared }) => {
      delete declared!.rollout!.maxNewTokens;
    },
    verdict: 'not applicable',
  },
]);
