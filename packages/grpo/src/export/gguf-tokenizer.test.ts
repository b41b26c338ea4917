import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../formats/temp-folder.test.helper.js';
import { third, writeForm } from '../text/forms.test.helper.js';
import { Tokenizer } from '../text/tokenizer.js';
import { readTokenizerFiles } from '../text/tokenizer-files.js';
import type { BpeModel } from '../text/tokenizer-model.js';
import { tokenizerMetadata } from './gguf-tokenizer.js';
import { pieceScores } from './piece-scores.js';
import { preTokenizerName } from './pre-tokenizer.js';

const text = fileURLToPath(new URL('../../../../parity/fixtures/text/', import.meta.url));

function preOf(family: string, changes: Partial<BpeModel> = {}): string {
  const files = readTokenizerFiles(join(text, family));
  return preTokenizerName(files, { ...(files.definition.model as BpeModel), ...changes });
}

describe('preTokenizerName', () => {
  it('is llama.cpp’s name of the way that words are cut', () => {
    expect(['gpt2', 'llama3', 'qwen2', 'qwen3'].map((family) => preOf(family))).toEqual([
      ...['gpt-2', 'llama-bpe', 'qwen2', 'qwen2'],
    ]);
    expect(preOf('llama3', { ignore_merges: false })).toBe('dbrx');
  });

  it('is any where nothing is merged', () => {
    expect(preOf('gpt2', { merges: [] })).toBe('qwen2');
  });

  it('is refused where llama.cpp has none', () => {
    const { vocab } = readTokenizerFiles(join(text, 'qwen2')).definition.model as BpeModel;
    const unreached = { ignore_merges: true, vocab: { ...vocab, qzx: 999 } };
    expect(() => preOf('qwen2', unreached)).toThrow(/no name .* ignore_merges: true/);
    // Merges lead to every other token: looking words up first changes nothing.
    expect(preOf('qwen2', { ignore_merges: true })).toBe('qwen2');
  });
});

describe('pieceScores', () => {
  const bpe = (tokens: string[], merges: [string, string][]): BpeModel => ({
    type: 'BPE',
    vocab: Object.fromEntries(tokens.map((token, id) => [token, id])),
    merges,
    ...{ fuse_unk: true, byte_fallback: true, ignore_merges: false },
  });
  const scores = (model: BpeModel, added: string[] = []) =>
    Object.fromEntries(pieceScores('here/tokenizer.json', model, [], (token) => added.includes(token)));

  it('fall with the place of a token’s first merge', () => {
    const model = bpe(
      ['a', 'b', 'c', 'bc', 'ab', 'abc'],
      [
        ['b', 'c'],
        ['a', 'b'],
        ['a', 'bc'],
        ['ab', 'c'],
      ],
    );
    expect(scores(model)).toEqual({ a: 0, b: 0, c: 0, bc: -1, ab: -2, abc: -3 });
  });

  it('are none where llama.cpp would merge what the list does not', () => {
    const merges: [string, string][] = [
      ['b', 'c'],
      ['a', 'b'],
      ['ab', 'c'],
    ];
    const tokens = ['a', 'b', 'c', 'bc', 'ab', 'abc'];
    expect(() => scores(bpe(tokens, merges))).toThrow(
      /^here\/tokenizer\.json: llama\.cpp cannot merge .*"a" and "bc" make a token, but are not in the list of merges/,
    );
    expect(scores(bpe(tokens, merges), ['abc'])).toMatchObject({ bc: -1, ab: -2 });
  });

  it('are none where the merges to a token are apart', () => {
    const merges: [string, string][] = [
      ['b', 'c'],
      ['a', 'bc'],
      ['a', 'b'],
      ['ab', 'c'],
    ];
    expect(() => scores(bpe(['a', 'b', 'c', 'bc', 'ab', 'abc'], merges))).toThrow(
      /the merges to "abc" are not together in the list/,
    );
  });
});

/** The metadata of a form of `fixtures/text/forms.json.gz`, and its tokenizer. */
function ofForm(name: string) {
  const dir = tempFolder();
  writeForm(name, dir);
  const tokenizer = Tokenizer.load(dir);
  const source = { files: readTokenizerFiles(dir), endIds: new Set([2]), template: undefined, rows: 700 };
  const { metadata, notes } = tokenizerMetadata({ ...source, tokenizer });
  const value = (key: string) => metadata.get(`tokenizer.ggml.${key}`)?.[1];
  return { tokenizer, notes, value };
}

describe('tokenizerMetadata', () => {
  it.each([
    ['Llama 2', 'Llama 2: a mark in front, no words', true],
    ['Gemma', 'Gemma without words', false],
  ])('gives %s’s ids to a program that merges by scores', (_, form, hasPrefix) => {
    const { tokenizer, value } = ofForm(form);
    const tokens = value('tokens') as string[];
    const scores = value('scores') as number[];
    const idOf = new Map(tokens.map((token, id) => [token, id]));
    expect([value('model'), value('add_space_prefix')]).toEqual(['llama', hasPrefix]);
    // As llama.cpp does it: of all neighbours that make a token, the one with the highest score, the first of equal ones.
    const encode = (text: string) => {
      let parts = [...`${hasPrefix ? '\u2581' : ''}${text.replaceAll(' ', '\u2581')}`];
      for (;;) {
        const made = parts.slice(1).map((right, i) => idOf.get(parts[i]! + right));
        const best = Math.max(...made.map((id) => (id === undefined ? -Infinity : scores[id]!)));
        if (best === -Infinity) break;
        const i = made.findIndex((id) => id !== undefined && scores[id] === best);
        parts = [...parts.slice(0, i), parts[i]! + parts[i + 1]!, ...parts.slice(i + 2)];
      }
      const byte = (value: number) => `<0x${value.toString(16).toUpperCase().padStart(2, '0')}>`;
      return parts.flatMap((part) =>
        idOf.has(part) ? [idOf.get(part)!] : [...Buffer.from(part)].map((value) => idOf.get(byte(value))!),
      );
    };
    const plain = third
      .filter((text) => text !== '' && text.length < 80 && !text.includes('<'))
      .slice(0, 300);
    expect(plain.length).toBe(300);
    for (const text of plain) expect(encode(text), text).toEqual(tokenizer.encode(text));
  });

  it.each([
    ['Llama 2 with some bytes', /only 253 of the 256 byte tokens, and llama\.cpp needs them all/],
    ['Unigram with bytes', /a Unigram tokenizer cannot be exported as GGUF/],
    ['words with a mark in front', /llama\.cpp has no pre-tokenizer .*Metaspace/],
  ])('refuses %s', (name, message) => {
    expect(() => ofForm(name)).toThrow(message);
  });

  it('tells kinds of tokens, and that a BOS comes first', () => {
    const { value } = ofForm('Llama 2: a mark in front, no words');
    expect((value('token_type') as number[]).slice(0, 4)).toEqual([2, 3, 3, 6]);
    expect(value('add_bos_token')).toBe(true);
  });

  it('says what llama.cpp does otherwise', () => {
    expect(ofForm('Llama 2 with flags').notes).toEqual([
      expect.stringMatching(/^llama\.cpp keeps white space beside "<\|turn\|>/),
      'llama.cpp finds "the" within words, too.',
      expect.stringMatching(/in a text as it stands; here spaces are marks by then\.$/),
    ]);
  });
});
