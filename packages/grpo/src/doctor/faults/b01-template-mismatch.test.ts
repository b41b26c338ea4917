import type { StepRecord } from '../../trace/index.js';
import { testStepCheck } from '../planted.test.helper.js';
import { all } from '../plants.test.helper.js';

testStepCheck('B01.markup', [
  {
    name: 'headers in the answers',
    plant: ({ completions }) => {
      completions!.texts!.fill('x<|user|>y', 4, 12);
    },
    verdict: 'warn',
    evidence: { completion: 4 },
  },
  {
    name: 'one, from a model that knows nothing',
    plant: ({ completions }) => {
      completions!.texts![4] = 'x<|user|>y';
    },
    verdict: 'pass',
  },
  {
    name: 'an answer that thinks, where the tag is a special token',
    plant: ({ completions, tokenizer }) => {
      tokenizer!.specialTokens = { 3: '<think>', 49: '<|end|>' };
      completions!.texts!.fill('<think>so</think>it is<|end|>');
    },
    verdict: 'pass',
  },
]);

const asked =
  (text: string, hasChatTemplate = true) =>
  (record: StepRecord) => {
    record.tokenizer!.hasChatTemplate = hasChatTemplate;
    record.prompts!.messages = record.prompts!.messages!.map(() => text);
    record.prompts!.texts = record.prompts!.texts!.map(() => text);
  };

testStepCheck('B01.plain', [
  { name: 'texts without any mark', plant: asked('3+4='), verdict: 'inform' },
  {
    name: 'lists of messages that were turned into text',
    plant: asked("[{'role': 'user', 'content': '3+4='}]"),
    verdict: 'warn',
  },
  { name: 'texts that were rendered before', plant: asked('<|user|>3+4='), verdict: 'pass' },
  { name: 'no template', plant: asked('3+4=', false), verdict: 'pass' },
  { name: 'conversations', plant: () => {}, verdict: 'pass' },
]);

/** Prompts of these ids, in which 40 opens a turn, 41 ends one, 42 closes a header, 43 stands for an image, and 44 and 45 open turns of two roles. */
const rendered =
  (...prompts: number[][]) =>
  (record: StepRecord) => {
    record.tokenizer!.specialTokens = {
      ...{ 40: '<|start_header_id|>', 41: '<|eot_id|>', 42: '<|end_header_id|>', 43: '<|image_pad|>' },
      ...{ 44: '<|user|>', 45: '<|assistant|>' },
    };
    const ids = record.prompts!.lengths!.length;
    const all = Array.from({ length: ids }, (_, p) => prompts[p % prompts.length]!);
    record.prompts!.ids = Int32Array.from(all.flat());
    record.prompts!.lengths = Int32Array.from(all, ({ length }) => length);
  };
const QUESTION = [40, 1, 42, 5, 6, 7, 8, 9, 41];
const TURN = [40, 2, 42];

testStepCheck('B01.twice', [
  {
    name: 'a rendered text in a message',
    plant: rendered([40, 1, 42, ...QUESTION, ...TURN, 41, ...TURN]),
    verdict: 'warn',
    evidence: { prompt: 0, token: 3 },
    measured: { header: '<|start_header_id|>' },
  },
  { name: 'the bare header twice', plant: rendered([40, 40, 5, 6]), verdict: 'warn' },
  { name: 'one conversation', plant: rendered([...QUESTION, ...TURN]), verdict: 'pass' },
  { name: 'an empty turn', plant: rendered([40, 3, 42, 41, ...QUESTION, ...TURN]), verdict: 'pass' },
  {
    name: 'short turns of two roles, without an end between',
    plant: rendered([44, 5, 45, 6, 44, 7, 45]),
    verdict: 'pass',
  },
  { name: 'an image', plant: rendered([40, 1, 42, 43, 43, 5, 41, ...TURN]), verdict: 'pass' },
  {
    name: 'a text that begins twice',
    plant: all(rendered([46, 46, ...QUESTION, ...TURN]), (record) => {
      record.tokenizer!.bosId = 46;
      record.tokenizer!.specialTokens![46] = '<s>';
    }),
    verdict: 'pass',
  },
  { name: 'a row of one token', plant: rendered([40, 40, 40, 40, 5]), verdict: 'pass' },
  {
    name: 'every third prompt',
    plant: rendered([40, 40, 5], [40, 5], [40, 6]),
    verdict: 'pass',
    measured: { prompts: 6, twice: 2 },
  },
]);

const marked = (marks: string, pieces: readonly string[]) => (record: StepRecord) => {
  const bytes = pieces.map((piece) => Buffer.from(piece));
  record.tokenizer!.pieces = {
    ids: Int32Array.from(pieces.keys()),
    bytes: new Uint8Array(Buffer.concat(bytes)),
    lengths: Int32Array.from(bytes, ({ length }) => length),
  };
  record.prompts!.texts = record.prompts!.texts!.map((text) => `${marks}${text}`);
};

testStepCheck('B01.split', [
  {
    name: 'ChatML in pieces',
    plant: marked('<|im_start|>user\n', ['<', '|', 'im', '_', 'start', '>']),
    verdict: 'warn',
    measured: { mark: '<|im_start|>' },
  },
  {
    name: 'ChatML of tokens',
    plant: marked('<|im_start|>user\n', ['<|im_start|>', 'user']),
    verdict: 'pass',
  },
  { name: 'marks that are plain text by design', plant: marked('<|user|>\n', ['<', '|']), verdict: 'pass' },
]);
