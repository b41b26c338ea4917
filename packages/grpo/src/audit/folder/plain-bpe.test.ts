import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { Tokenizer } from '../../text/tokenizer.js';
import { plainBpe, plainWords } from './plain-bpe.js';
import { frontIdsIn, jsonIn } from './told-by-files.js';

const fixture = (name: string) =>
  fileURLToPath(new URL(`../../../../../parity/fixtures/text/${name}`, import.meta.url));

describe('words', () => {
  it('are small letters between spaces, full stops and commas', () => {
    expect(plainWords("It is the 2nd, isn't it, or the last one. so be_it Then")).toEqual([
      ' is',
      ' the',
      ' it',
      ' or',
      ' last',
      ' one',
      ' so',
    ]);
  });

  it.each(['gpt2', 'llama3', 'qwen2', 'qwen3'])(
    'of %s are encoded as its tokenizer does, which transformers is held to',
    (name) => {
      const text = readFileSync(new URL('../../../../../docs/training.md', import.meta.url), 'utf8');
      const [tokenizer, encode] = [
        Tokenizer.load(fixture(name)),
        plainBpe(jsonIn(fixture(name), 'tokenizer.json'))!,
      ];
      const words = plainWords(text);
      expect(words.length).toBeGreaterThan(300);
      expect(words.map(encode)).toEqual(words.map((word) => tokenizer.encode(word)));
    },
  );

  it('of other tokenizers are not', () => {
    expect(plainBpe({ model: { type: 'Unigram' } })).toBeUndefined();
    expect(plainBpe({ model: { type: 'BPE' }, pre_tokenizer: { type: 'Metaspace' } })).toBeUndefined();
    const lower = { type: 'Lowercase' };
    expect(
      plainBpe({ model: { type: 'BPE' }, pre_tokenizer: { type: 'ByteLevel' }, normalizer: lower }),
    ).toBeUndefined();
  });
});

it('the ids in front of a text are those of the post-processor', () => {
  for (const name of ['gpt2', 'llama3', 'qwen3']) {
    const { addsBos, bosId } = Tokenizer.load(fixture(name));
    const front = frontIdsIn(fixture(name), jsonIn(fixture(name), 'tokenizer.json'));
    expect(front).toEqual(addsBos ? [bosId] : []);
    expect(front).toHaveLength(Number(name === 'llama3'));
    expect(
      frontIdsIn(fixture(name), { model: {}, post_processor: { type: 'RobertaProcessing' } }),
    ).toBeUndefined();
    expect(frontIdsIn(fixture(name), { model: {}, post_processor: null })).toEqual([]);
  }
});
