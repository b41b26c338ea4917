import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { sharedFolder } from '../../formats/temp-folder.test.helper.js';
import { parseConfig } from '../../models/parse/parse-config.js';
import { Tokenizer } from '../../text/tokenizer.js';
import { writeArithmeticModelFiles } from './arithmetic-model.js';
import { arithmeticTask } from './task.js';

const folder = sharedFolder();
let dir = '';
const json = (name: string) => JSON.parse(readFileSync(join(dir, name), 'utf8'));
beforeAll(async () => {
  dir = join(folder, 'model');
  await writeArithmeticModelFiles(dir, { layers: 2 });
});
describe('writeArithmeticModelFiles', () => {
  it('writes a tokenizer of whole tags and single bytes', () => {
    const tokenizer = Tokenizer.load(dir);
    const tags = ['<think>', '</think>', '<answer>', '</answer>', '<eos>'].map((tag) =>
      tokenizer.encode(tag),
    );
    expect(tags).toEqual([[2], [3], [4], [5], [1]]);
    expect([tokenizer.eosId, tokenizer.padId, tokenizer.bosId]).toEqual([1, 0, undefined]);
    expect(tokenizer.encode('7+5= é')).toHaveLength(7);
    const { train } = arithmeticTask({ operands: 3, operators: ['+', '-'], trainSize: 200 });
    for (const { prompt, demonstration } of train) {
      const text = prompt + demonstration!;
      const ids = tokenizer.encode(text);
      expect(ids).toHaveLength(text.replace(/<.*?>/g, '#').length);
      // Tags survive decoding without special tokens: rewards need them.
      expect(tokenizer.decode(ids, { skipSpecial: true })).toBe(text);
    }
  });

  it('writes a configuration that agrees with the tokenizer and the asked size', () => {
    const config = json('config.json');
    const { vocab } = json('tokenizer.json').model;
    expect(config.vocab_size).toBe(Tokenizer.load(dir).vocabSize);
    expect(config).toMatchObject({ model_type: 'qwen2', num_hidden_layers: 2, hidden_size: 128 });
    expect(json('generation_config.json')).toEqual({
      eos_token_id: [vocab['<eos>']],
      pad_token_id: vocab['<pad>'],
    });
    expect(config.eos_token_id).not.toBe(config.pad_token_id);
  });

  it('gives a masked-diffusion model a mask token of its own, after the tokens of the others', async () => {
    const masked = join(dir, 'masked');
    await writeArithmeticModelFiles(masked, { family: 'a2d-qwen2' });
    const tokenizer = Tokenizer.load(masked);
    const { vocabSize } = Tokenizer.load(dir);
    expect([tokenizer.vocabSize, tokenizer.maskId]).toEqual([vocabSize + 1, vocabSize]);
    expect(tokenizer.isSpecial(vocabSize)).toBe(true);
    expect(tokenizer.encode('<answer>7')).toEqual(Tokenizer.load(dir).encode('<answer>7'));
    const config = JSON.parse(readFileSync(join(masked, 'config.json'), 'utf8'));
    expect(parseConfig(config, 'config.json')).toMatchObject({
      family: 'qwen2',
      vocabSize: vocabSize + 1,
      diffusion: { maskId: vocabSize, shifted: false },
    });
  });

  it('writes a GPT-2 of the asked size too', async () => {
    const size = { family: 'gpt2', hiddenSize: 32, heads: 4, intermediateSize: 48, maxLength: 99 } as const;
    const gpt2 = join(dir, 'gpt2');
    await writeArithmeticModelFiles(gpt2, size);
    const config = JSON.parse(readFileSync(join(gpt2, 'config.json'), 'utf8'));
    expect(parseConfig(config, 'config.json')).toMatchObject({
      family: 'gpt2',
      vocabSize: Tokenizer.load(gpt2).vocabSize,
      hiddenSize: 32,
      intermediateSize: 48,
      heads: 4,
      layers: 2,
      maxPositions: 99,
    });
  });

  it('refuses a width that the heads cannot share', async () => {
    await expect(writeArithmeticModelFiles(dir, { hiddenSize: 100, heads: 3 })).rejects.toThrow(
      'hiddenSize 100',
    );
  });
});
