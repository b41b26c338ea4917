import type { StepRecord } from '../../trace/index.js';
import { testLogCheck, testStepCheck, times } from '../planted.test.helper.js';

testLogCheck('B09.log', [
  { name: 'a third', metrics: { 'completions/clipped_ratio': times(5, 0.33) }, verdict: 'inform' },
  { name: 'all of one entry', metrics: { 'completions/clipped_ratio': [1] }, verdict: 'warn' },
  {
    name: 'all of four, which B16.log judges',
    metrics: { 'completions/clipped_ratio': times(4, 1) },
    verdict: 'pass',
  },
  { name: 'few', metrics: { 'completions/clipped_ratio': times(5, 0.05) }, verdict: 'pass' },
]);

testStepCheck('B09.prompt', [
  {
    name: 'two prompts at the limit',
    plant: ({ prompts, declared }) => {
      prompts!.lengths!.set([15, 15], 4);
      prompts!.lengths![0] = prompts!.lengths![0]! - 1;
      declared!.maxPromptTokens = 15;
    },
    verdict: 'warn',
    evidence: { prompt: 4 },
  },
  {
    name: 'one of six has that length',
    plant: ({ declared }) => {
      declared!.maxPromptTokens = 15;
    },
    verdict: 'pass',
  },
]);

/** Writes a prompt's text, and ids that spell another one. */
const spelling = (text: string, spelt: string) => (record: StepRecord) => {
  const { prompts, tokenizer } = record;
  const count = prompts!.texts!.length;
  prompts!.texts![0] = text;
  const ids = [...Buffer.from(spelt)];
  const rest = prompts!.ids!.subarray(prompts!.lengths![0]!);
  prompts!.ids = Int32Array.from([...ids, ...rest]);
  prompts!.lengths = Int32Array.from({ length: count }, (_, p) =>
    p === 0 ? ids.length : prompts!.lengths![p]!,
  );
  tokenizer!.pieces = {
    ids: Int32Array.from({ length: 128 }, (_, id) => id),
    bytes: Uint8Array.from({ length: 128 }, (_, id) => id),
    lengths: new Int32Array(128).fill(1),
  };
};

const QUESTION = '<s><|user|>What is 1 + 1?<|end|>';

testStepCheck('B09.text', [
  { name: 'all of it', plant: spelling(QUESTION, QUESTION), verdict: 'pass' },
  { name: 'with a header behind it', plant: spelling(QUESTION, `${QUESTION}assistant`), verdict: 'pass' },
  { name: 'in other letters', plant: spelling(QUESTION, QUESTION.toLowerCase()), verdict: 'pass' },
  {
    name: 'without its end',
    plant: spelling(QUESTION, '<s><|user|>What is 1'),
    verdict: 'warn',
    evidence: { prompt: 0, text: 'What is 1' },
    measured: { wrong: 1, lacks: 'the end' },
  },
  {
    name: 'without its beginning',
    plant: spelling(QUESTION, 'is 1 + 1?<|end|>'),
    verdict: 'warn',
    measured: { lacks: 'the beginning' },
  },
  {
    name: 'without its spaces',
    plant: spelling(QUESTION, QUESTION.replaceAll(' ', '')),
    verdict: 'warn',
    measured: { lacks: 'white space' },
  },
  { name: 'something else', plant: spelling(QUESTION, 'Wie viel?'), verdict: 'pass' },
]);
