import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { readTokenizerFiles } from '../text/tokenizer-files.js';
import type { BpeModel } from '../text/tokenizer-model.js';
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
    expect(() => preOf('qwen2', { ignore_merges: true })).toThrow(/no name .* ignore_merges: true/);
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
