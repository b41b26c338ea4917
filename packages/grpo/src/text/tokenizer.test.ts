import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { sharedFolder } from '../formats/temp-folder.test.helper.js';
import { ChatTemplate } from './chat-template.js';
import { FAMILIES, type Family, fixtureCases, fixtureFolder } from './fixtures.test.data.js';
import { Tokenizer } from './tokenizer.js';

const root = sharedFolder();

type Json = Record<string, unknown>;

/** A copy of a family's folder in which `file` was edited. */
function edited(family: Family, file: string, edit: (content: Json) => Json | string): string {
  const dir = mkdtempSync(join(root, family));
  cpSync(fixtureFolder(family), dir, { recursive: true });
  const content = edit(JSON.parse(readFileSync(join(dir, file), 'utf8')) as Json);
  writeFileSync(join(dir, file), typeof content === 'string' ? content : JSON.stringify(content));
  return dir;
}

describe.each(FAMILIES)('the %s tokenizer against the Rust library', (family) => {
  const cases = fixtureCases(family);
  const tokenizer = Tokenizer.load(fixtureFolder(family));

  it('encodes every string to the same ids', () => {
    expect(cases.strings.length).toBeGreaterThan(140);
    const ours = cases.strings.map(({ text }) => ({ text, ids: tokenizer.encode(text) }));
    expect(ours).toEqual(cases.strings.map(({ text, ids }) => ({ text, ids })));
  });

  it('never makes more tokens than it says at most', () => {
    // NFC decomposes the last two: 3 bytes become 6, and 4 become 12.
    const texts = [...cases.strings.map(({ text }) => text), '\u0958'.repeat(5), '\u{1d160}'.repeat(5)];
    for (const text of texts) {
      expect(tokenizer.encode(text).length, text).toBeLessThanOrEqual(tokenizer.mostTokens(text));
    }
  });

  it('adds the same special tokens when asked', () => {
    const ours = cases.strings.map(({ text }) => tokenizer.encode(text, { specialTokens: true }));
    expect(ours).toEqual(cases.strings.map(({ ids, withSpecials }) => withSpecials ?? ids));
  });

  it('decodes to the same text, with and without special tokens', () => {
    const ours = cases.strings.map(({ ids }) => [
      tokenizer.decode(ids),
      tokenizer.decode(ids, { skipSpecial: true }),
    ]);
    const theirs = cases.strings.map(({ text, decoded = text, skipped = decoded }) => [decoded, skipped]);
    expect(ours).toEqual(theirs);
  });

  it('knows the same vocabulary and special tokens', () => {
    const { vocabSize, bosId, eosId, padId } = tokenizer;
    const ids = { vocabSize, bosId: bosId ?? null, eosId: eosId ?? null, padId: padId ?? null };
    expect(ids).toEqual({
      vocabSize: cases.vocabSize,
      bosId: cases.bosId,
      eosId: cases.eosId,
      padId: cases.padId,
    });
    const all = Array.from({ length: vocabSize }, (_, id) => id);
    expect(all.filter((id) => tokenizer.isSpecial(id))).toEqual(cases.specialIds);
    expect(tokenizer.addsBos).toBe(family === 'llama3');
  });

  it('counts the bytes of every token', () => {
    for (const { text, ids, decoded = text } of cases.strings) {
      const bytes = ids.reduce((sum, id) => sum + tokenizer.bytesOf(id).length, 0);
      expect(bytes, JSON.stringify(text)).toBe(Buffer.byteLength(decoded));
    }
  });
});

describe('decodeCompletion', () => {
  const tokenizer = Tokenizer.load(fixtureFolder('qwen3'));
  const end = tokenizer.eosId!;

  it('leaves out the end token and keeps other special tokens', () => {
    const ids = tokenizer.encode('<musing>7</musing><|turn|>42<|/turn|>');
    const text = '<musing>7</musing><|turn|>42';
    expect(tokenizer.decodeCompletion(ids, { endIds: new Set([end]) })).toBe(text);
    expect(tokenizer.decodeCompletion(Int32Array.from(ids), { endIds: new Set() })).toBe(`${text}<|/turn|>`);
    expect(tokenizer.decodeCompletion([end], { endIds: new Set([end]) })).toBe('');
    expect(tokenizer.decodeCompletion([], { endIds: new Set([end]) })).toBe('');
  });

  it('gives no text to an id beyond the vocabulary', () => {
    const ids = [...tokenizer.encode('a'), tokenizer.vocabSize, ...tokenizer.encode('b')];
    expect(tokenizer.decodeCompletion(ids, { endIds: new Set([end]) })).toBe('ab');
  });
});

describe('Tokenizer.load', () => {
  it('reads files of older versions: no model type, merges as text, tokens in the side files', () => {
    const dir = edited('qwen3', 'tokenizer.json', (content) => {
      const { type, merges, ...model } = content.model as { type: string; merges: [string, string][] };
      const joined = merges.map((pair) => pair.join(' '));
      const added = content.added_tokens as { content: string }[];
      const kept = added.filter((token) => !token.content.includes('musing'));
      return { ...content, model: { ...model, merges: joined }, added_tokens: kept };
    });
    const normal = Tokenizer.load(fixtureFolder('qwen3'));
    const text = '<musing>The miller</musing><|/turn|>';
    expect(Tokenizer.load(dir).encode(text)).not.toEqual(normal.encode(text));
    const [open, close] = normal.encode('<musing></musing>');
    writeFileSync(join(dir, 'added_tokens.json'), JSON.stringify({ '<musing>': open, '</musing>': close }));
    writeFileSync(
      join(dir, 'special_tokens_map.json'),
      JSON.stringify({
        unk_token: { content: '</musing>' },
        eos_token: 'ignored: the configuration has one',
      }),
    );
    const old = Tokenizer.load(dir);
    expect(old.encode(text)).toEqual(normal.encode(text));
    expect([old.isSpecial(open!), old.isSpecial(close!)]).toEqual([false, true]);
    expect(old.eosId).toBe(normal.eosId);
  });

  it.each<[string, string, (content: Json) => Json | string, RegExp]>([
    ['broken JSON', 'tokenizer.json', () => '{"model": ', /tokenizer\.json.*not valid JSON/],
    [
      'another model',
      'tokenizer.json',
      (content) => ({ ...content, model: { type: 'WordLevel', vocab: {} } }),
      /tokenizer\.json: .*model "WordLevel".*BPE and Unigram/,
    ],
    [
      'another decoder',
      'tokenizer.json',
      (content) => ({ ...content, decoder: { type: 'WordPiece' } }),
      /decoder: the part "WordPiece" is not supported/,
    ],
    [
      'a part the engine does not know',
      'tokenizer.json',
      (content) => ({ ...content, pre_tokenizer: { type: 'Guess' } }),
      /tokenizer\.json: pre_tokenizer: the part "Guess" is not supported/,
    ],
    [
      'a malformed vocabulary',
      'tokenizer.json',
      (content) => ({ ...content, model: { ...(content.model as Json), vocab: { a: 'b' } } }),
      /tokenizer\.json: model\.vocab: "a" has the id "b"/,
    ],
    [
      'missing bytes',
      'tokenizer.json',
      (content) => {
        const model = content.model as { vocab: Json };
        const { Ċ: _, ...vocab } = model.vocab;
        return { ...content, model: { ...model, vocab } };
      },
      /lacks 1 bytes \(0x0a\)/,
    ],
    [
      'no model',
      'tokenizer.json',
      ({ model: _, ...content }) => content,
      /tokenizer\.json: model must be of type object, found nothing/,
    ],
    [
      'a merge that is none',
      'tokenizer.json',
      (content) => ({ ...content, model: { ...(content.model as Json), merges: ['Ġ t', 7] } }),
      /model\.merges: number 2 must be two tokens with a space between, found 7/,
    ],
    [
      'merges of two kinds',
      'tokenizer.json',
      (content) => ({ ...content, model: { ...(content.model as Json), merges: [['Ġ', 't'], 'a b'] } }),
      /model\.merges: number 2 must be a list of two tokens, as the first one is, found "a b"/,
    ],
    [
      'a merge to a token that is not there',
      'tokenizer.json',
      (content) => ({ ...content, model: { ...(content.model as Json), merges: ['z z'] } }),
      /model\.merges: number 1, "z z", needs "zz", which the vocabulary lacks/,
    ],
    [
      'one id for two tokens',
      'tokenizer.json',
      (content) => {
        const model = content.model as { vocab: Record<string, number> };
        return { ...content, model: { ...model, vocab: { ...model.vocab, b: model.vocab.a } } };
      },
      /the id \d+ is given twice: to "a" and "b"/,
    ],
    [
      'a pattern that is none',
      'tokenizer.json',
      (content) => ({
        ...content,
        pre_tokenizer: { type: 'Sequence', pretokenizers: [{ type: 'Split', pattern: 'x' }] },
      }),
      /pre_tokenizer\.pretokenizers\.0\.pattern must be \{"String": text\} or .*, found "x"/,
    ],
    [
      'a flag in quotes',
      'tokenizer.json',
      (content) => ({ ...content, pre_tokenizer: { type: 'ByteLevel', use_regex: 'no' } }),
      /pre_tokenizer\.use_regex must be true or false, found "no"/,
    ],
    [
      'corrupt JSON',
      'tokenizer.json',
      (content) => JSON.stringify(content, null, 1).replace('"model": {', '"model": '),
      /the tokenizer is not valid JSON: .* at line \d+, column \d+/,
    ],
    [
      'a special token outside the vocabulary',
      'tokenizer_config.json',
      (content) => ({ ...content, pad_token: '<pad>' }),
      /tokenizer_config\.json: .*"<pad>"/,
    ],
  ])('refuses %s', (_name, file, edit, message) => {
    const dir = edited('gpt2', file, edit);
    expect(() => Tokenizer.load(dir)).toThrow(message);
  });

  it('names a missing file', () => {
    const dir = edited('gpt2', 'tokenizer.json', (content) => content);
    rmSync(join(dir, 'tokenizer_config.json'));
    expect(() => Tokenizer.load(dir)).toThrow(/tokenizer_config\.json: no such file, .*eos_token_id/);
    writeFileSync(join(dir, 'config.json'), JSON.stringify({ bos_token_id: 0 }));
    expect(() => Tokenizer.load(dir)).toThrow(/tokenizer_config\.json: no such file/);
    rmSync(join(dir, 'tokenizer.json'));
    expect(() => Tokenizer.load(dir)).toThrow(/tokenizer\.json.*no such file.* grpo fetch NAME/);
    writeFileSync(join(dir, 'vocab.json'), '{}');
    expect(() => Tokenizer.load(dir)).toThrow(/save_pretrained/);
  });

  it('takes the names of tokens from the special tokens map, or else from the ids of the model', () => {
    const dir = edited('llama3', 'tokenizer.json', (content) => content);
    const { namedTokens, bosId, eosId } = Tokenizer.load(dir);
    rmSync(join(dir, 'tokenizer_config.json'));
    rmSync(join(dir, 'special_tokens_map.json'), { force: true });
    const ids = { bos_token_id: bosId, eos_token_id: [eosId, 5], pad_token_id: null };
    writeFileSync(join(dir, 'config.json'), JSON.stringify({ ...ids, vocab_size: 600 }));
    expect(Tokenizer.load(dir).namedTokens).toEqual(namedTokens);
    expect(ChatTemplate.load(dir)).toBeDefined();
    rmSync(join(dir, 'chat_template.jinja'));
    expect(ChatTemplate.load(dir)).toBeUndefined();
    const map = { bos_token: namedTokens.bos_token, eos_token: { content: namedTokens.bos_token } };
    writeFileSync(join(dir, 'special_tokens_map.json'), JSON.stringify(map));
    expect([Tokenizer.load(dir).bosId, Tokenizer.load(dir).eosId]).toEqual([bosId, bosId]);
  });

  it('refuses a post-processor that puts something other than the BOS in front', () => {
    const dir = edited('llama3', 'tokenizer_config.json', (content) => ({ ...content, bos_token: null }));
    expect(() => Tokenizer.load(dir)).toThrow(/puts "<\|begin_of_text\|>" in front.*bos_token is null/);
  });
});
