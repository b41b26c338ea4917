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

const begins =
  (length: (b: number) => number) =>
  (record: StepRecord): void => {
    const { texts } = record.completions!;
    for (const b of texts!.keys()) if (length(b) > 0) texts![b] = endOf(record, b, length(b)) + texts![b];
  };

testStepCheck('B10.graded', [
  {
    name: 'texts that begin with their prompt’s end, by the padding of the row',
    plant: begins((b) => 12 - 2 * Math.floor(b / 4)),
    verdict: 'fail',
    evidence: { completion: 0, text: '|assistant|>' },
    measured: { completions: 24, begun: 24 },
  },
  {
    name: 'one text with one character too much',
    plant: begins((b) => (b === 7 ? 1 : 0)),
    verdict: 'fail',
    evidence: { completion: 7, text: '>' },
  },
  {
    name: 'special tokens of the prompt left out of the text',
    plant: (record) => {
      record.tokenizer!.specialTokens![46] = '<|assistant|>';
      record.completions!.texts![3] = `0 + 0?${record.completions!.texts![3]}`;
    },
    verdict: 'fail',
    evidence: { completion: 3, text: '0 + 0?' },
  },
  { name: 'an answer that the prompt begins', plant: begins(() => 9), verdict: 'pass' },
  {
    name: 'a change that is declared',
    plant: (record) => {
      begins((b) => b)(record);
      record.declared!.textChanges = ['prompt'];
    },
    verdict: 'pass',
  },
  {
    name: 'a model that repeats the prompt’s end',
    plant: (record) => {
      begins((b) => b)(record);
      record.completions!.sampledTexts = [...record.completions!.texts!];
    },
    verdict: 'pass',
  },
  {
    name: 'no texts as sampled',
    plant: ({ completions }) => void delete completions!.sampledTexts,
    verdict: 'not applicable',
  },
]);

testStepCheck('B10.text', [
  {
    name: 'all texts of two prompts begin with their prompt’s end',
    into: { step: 5 },
    plant: begins((b) => (b < 8 ? 9 : 0)),
    verdict: 'warn',
    evidence: { completion: 0, values: { repeated: 9 } },
  },
  {
    name: 'some texts of a prompt, which chance explains',
    into: { step: 5 },
    plant: begins((b) => ([1, 5, 9, 10, 11].includes(b) ? 9 : 0)),
    verdict: 'pass',
  },
  { name: 'an answer that the prompt begins', into: { step: 5 }, plant: begins(() => 9), verdict: 'pass' },
  { name: 'texts as sampled', plant: begins((b) => (b < 8 ? 9 : 0)), verdict: 'not applicable' },
  {
    name: 'texts that begin with a shorter end',
    into: { step: 5 },
    plant: begins((b) => (b < 8 ? 4 : 0)),
    verdict: 'pass',
  },
  {
    name: 'a model that repeats the prompt’s end, in other words for half of the prompts',
    into: { step: 5 },
    plant: (record) => {
      const { texts, ids, prompt } = record.completions!;
      const { lengths } = record.prompts!;
      begins((b) => (b < 12 ? 9 : 10))(record);
      for (const b of texts!.keys()) {
        const end = lengths!.slice(0, prompt![b]! + 1).reduce((x, y) => x + y, 0);
        ids![startOf(record, b)] = record.prompts!.ids![end - 1]!;
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
