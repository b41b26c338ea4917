import { cpSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { sharedFolder } from '../formats/temp-folder.test.helper.js';
import { fixtureFolder } from './fixtures.test.data.js';
import { Tokenizer } from './tokenizer.js';

type Json = Record<string, unknown>;

/** Fixture of `parity/make_string_fixtures.py`; its records hold the differences only, by the string's index. */
interface Strings {
  strings: string[];
  variants: Record<string, { base: 'gpt2' | 'llama3' | 'qwen2'; changes: Json }>;
  tokenizers: Record<
    string,
    {
      ids: number[][];
      withSpecials: Record<number, number[]>;
      decoded: Record<number, string>;
      skipped: Record<number, string>;
      random: { ids: number[]; text: string }[];
    }
  >;
}

const file = new URL('../../../../parity/fixtures/text/strings.json.gz', import.meta.url);
const {
  strings: all,
  variants,
  tokenizers,
} = JSON.parse(gunzipSync(readFileSync(file)).toString()) as Strings;

const root = sharedFolder();

/** A copy of a family's folder in which fields of `tokenizer.json` are replaced, named by their path. */
function changed(base: 'gpt2' | 'llama3' | 'qwen2', changes: Json): string {
  const dir = mkdtempSync(join(root, base));
  cpSync(fixtureFolder(base), dir, { recursive: true });
  const content = JSON.parse(readFileSync(join(dir, 'tokenizer.json'), 'utf8')) as Json;
  for (const [path, value] of Object.entries(changes)) {
    const names = path.split('.');
    const last = names.pop()!;
    names.reduce((part, name) => part[name] as Json, content)[last] = value;
  }
  writeFileSync(join(dir, 'tokenizer.json'), JSON.stringify(content));
  return dir;
}

function folder(name: string): string {
  const variant = variants[name];
  return variant ? changed(variant.base, variant.changes) : fixtureFolder(name as 'gpt2');
}

/** The strings of a tokenizer: a variant has a third of them, as in `some` of the Python script. */
function stringsOf(name: string): string[] {
  return variants[name] ? all.filter((text, i) => i % 3 === 0 || /[\ufeff\u0085]/.test(text)) : all;
}

/** The strings for which `ours` is something else, with both sides: an empty list, or a failure that can be read. */
function differing<T>(
  strings: string[],
  ours: (text: string, index: number) => T,
  theirs: (index: number) => T,
): unknown[] {
  return strings.flatMap((text, i) => {
    const [our, their] = [ours(text, i), theirs(i)];
    return JSON.stringify(our) === JSON.stringify(their) ? [] : [{ text, ours: our, theirs: their }];
  });
}

describe.each(Object.keys(tokenizers))('the strings with %s, against the Rust library', (name) => {
  const { ids, withSpecials, decoded, skipped, random } = tokenizers[name]!;
  const tokenizer = Tokenizer.load(folder(name));
  const strings = stringsOf(name);

  it('have the same ids, without and with special tokens', () => {
    expect([strings.length, all.length > 2500]).toEqual([ids.length, true]);
    expect(
      differing(
        strings,
        (text) => tokenizer.encode(text),
        (i) => ids[i],
      ),
    ).toEqual([]);
    const whole = (text: string) => tokenizer.encode(text, { specialTokens: true });
    expect(differing(strings, whole, (i) => withSpecials[i] ?? ids[i])).toEqual([]);
  });

  it('come back as the same text, and so do random ids', () => {
    expect(
      differing(
        strings,
        (_text, i) => tokenizer.decode(ids[i]!),
        (i) => decoded[i] ?? strings[i],
      ),
    ).toEqual([]);
    const plain = (_text: string, i: number) => tokenizer.decode(ids[i]!, { skipSpecial: true });
    expect(differing(strings, plain, (i) => skipped[i] ?? decoded[i] ?? strings[i])).toEqual([]);
    expect(random.map((each) => ({ ids: each.ids, text: tokenizer.decode(each.ids) }))).toEqual(random);
  });

  it('have tokens whose bytes add up to the text', () => {
    // Where the tokens spell the text; U+FFFD stands for bytes that do not.
    const lengths = (text: string, i: number) =>
      decoded[i] === undefined
        ? ids[i]!.reduce((sum, id) => sum + tokenizer.bytesOf(id).length, 0)
        : text.length;
    const expected = (i: number) =>
      decoded[i] === undefined ? Buffer.byteLength(strings[i]!) : strings[i]!.length;
    expect(differing(strings, lengths, expected)).toEqual([]);
  });
});

describe('what is refused', () => {
  const split = (behavior: string) => ({ type: 'Split', pattern: { String: 'x' }, behavior, invert: false });

  it.each<[string, Json, RegExp]>([
    [
      'no decoder',
      { decoder: { type: 'Sequence', decoders: [] } },
      /no decoder; the tokens of this pre_tokenizer need ByteLevel/,
    ],
    [
      'bytes that are not decoded',
      { decoder: { type: 'Metaspace', replacement: '▁' } },
      /the decoder Metaspace; .* need ByteLevel/,
    ],
    ['WordPiece', { model: { type: 'WordPiece', vocab: {} } }, /model "WordPiece"/],
    [
      'another decoder',
      { decoder: { type: 'Sequence', decoders: [{ type: 'WordPiece' }] } },
      /decoder\.decoders\.0: the part "WordPiece"/,
    ],
    [
      'text that is decoded as bytes',
      { pre_tokenizer: { type: 'Metaspace', replacement: '▁' } },
      /the decoder ByteLevel; .* need another/,
    ],
    [
      'a normalizer',
      { normalizer: { type: 'BertNormalizer' } },
      /the part "BertNormalizer" is not supported/,
    ],
    [
      'a normalizer within',
      { normalizer: { type: 'Sequence', normalizers: [{ type: 'Nmt' }] } },
      /normalizer\.normalizers\.0: the part "Nmt"/,
    ],
    [
      'a way of splitting',
      { pre_tokenizer: split('Merged') },
      /pre_tokenizer\.behavior must be one of Removed/,
    ],
    [
      'a pattern that JavaScript has not',
      { normalizer: { type: 'Replace', pattern: { Regex: '(?(a)b|c)' }, content: '' } },
      /this tokenizer cannot be used: .*regular expression/i,
    ],
    [
      'a map of characters that is none',
      { normalizer: { type: 'Precompiled', precompiled_charsmap: 'AAAA' } },
      /precompiled_charsmap is no map of characters/,
    ],
    [
      'words that begin in another way',
      { 'model.continuing_subword_prefix': '##' },
      /model\.continuing_subword_prefix is "##", which is not supported/,
    ],
  ])('%s, by its name', (_name, changes, message) => {
    expect(() => Tokenizer.load(changed('gpt2', changes))).toThrow(message);
  });

  it('half a character, as Python does', () => {
    const tokenizer = Tokenizer.load(fixtureFolder('gpt2'));
    expect(() => tokenizer.encode('a\ud83d b')).toThrow(/lone surrogate U\+D83D at position 2/);
    expect(tokenizer.decode(tokenizer.encode('a\ud83d\ude42 b'))).toBe('a\u{1f642} b');
  });
});
