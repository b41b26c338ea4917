import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { sharedFolder } from '../formats/temp-folder.test.helper.js';
import { all, files, firstOther } from './forms.test.helper.js';
import { Tokenizer } from './tokenizer.js';

const root = sharedFolder();

/** A folder with a `tokenizer.model` alone, or with a configuration beside it. */
function folder(model: string | Buffer, config?: object): string {
  const dir = mkdtempSync(join(root, 'model'));
  writeFileSync(
    join(dir, 'tokenizer.model'),
    typeof model === 'string' ? Buffer.from(model, 'base64') : model,
  );
  if (config) writeFileSync(join(dir, 'tokenizer_config.json'), JSON.stringify(config));
  return dir;
}

describe.each(Object.keys(files))('a tokenizer.model like that of %s', (name) => {
  const { model, without, hashes } = files[name]!;
  const tokenizer = Tokenizer.load(folder(model));
  const strings = all.filter((_, i) => !without.includes(i));

  it('gives the strings the ids and texts of SentencePiece or the Rust library', () => {
    expect(strings.length).toBeGreaterThan(2300);
    const ids = strings.map((text) => tokenizer.encode(text));
    expect(firstOther(strings, ids, hashes.ids)).toBeUndefined();
    expect(
      firstOther(
        strings,
        ids.map((each) => tokenizer.decode(each)),
        hashes.decoded,
      ),
    ).toBeUndefined();
  });
});

describe('a folder without a tokenizer.json', () => {
  const { model } = files.llama!;

  it('takes the names of tokens from the model, and puts the BOS in front', () => {
    const { namedTokens, addsBos, bosId, eosId } = Tokenizer.load(folder(model));
    expect({ namedTokens, addsBos, bosId, eosId }).toEqual({
      namedTokens: { bos_token: '<s>', eos_token: '</s>', unk_token: '<unk>' },
      addsBos: true,
      bosId: 1,
      eosId: 2,
    });
    expect(Tokenizer.load(folder(files.t5!.model)).addsBos).toBe(false);
  });

  it('does as its configuration says', () => {
    const given = { add_bos_token: false, pad_token: '</s>', eos_token: null };
    const { addsBos, padId, eosId, bosId } = Tokenizer.load(folder(model, given));
    expect({ addsBos, padId, eosId, bosId }).toEqual({
      addsBos: false,
      padId: 2,
      eosId: undefined,
      bosId: 1,
    });
    // Text behind an added token begins with a mark in older versions of transformers.
    const [older, newer] = [true, false].map((legacy) => Tokenizer.load(folder(model, { legacy })));
    const pieces = (tokenizer: Tokenizer) =>
      tokenizer.encode('</s>the').map((id) => `${tokenizer.bytesOf(id)}`);
    expect([pieces(older!), pieces(newer!)]).toEqual([
      ['</s>', ' the'],
      ['</s>', 't', 'he'],
    ]);
  });

  it.each<[string, Buffer, RegExp]>([
    ['what is no protobuf', Buffer.from('IQ== 0\nIg== 1\n'), /it is no model of SentencePiece/],
    ['half of a model', Buffer.from(model, 'base64').subarray(0, 4000), /it is no model of SentencePiece/],
    ['nothing', Buffer.alloc(0), /it has no pieces/],
  ])('refuses %s, and says what to type', (_name, bytes, message) => {
    expect(() => Tokenizer.load(folder(bytes))).toThrow(message);
    expect(() => Tokenizer.load(folder(bytes))).toThrow(/python -c "from transformers import AutoTokenizer/);
  });
});
