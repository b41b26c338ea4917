import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Tokenizer } from '@huggingface/tokenizers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { arithmeticTask } from './arithmetic.js';
import { writeArithmeticModelFiles } from './arithmetic-model.js';

let dir = '';
const json = (name: string) => JSON.parse(readFileSync(join(dir, name), 'utf8'));
beforeAll(async () => {
  dir = join(mkdtempSync(join(tmpdir(), 'grpo-tiny-')), 'model');
  await writeArithmeticModelFiles(dir, { layers: 2 });
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

describe('writeArithmeticModelFiles', () => {
  it('writes a tokenizer of single characters and whole tags', () => {
    const tokenizer = new Tokenizer(json('tokenizer.json'), json('tokenizer_config.json'));
    expect(tokenizer.tokenize('<think>7+5=12; 1</think> <answer>-2</answer><eos>')).toEqual([
      '<think>',
      ...'7+5=12; 1',
      '</think>',
      ' ',
      '<answer>',
      '-',
      '2',
      '</answer>',
      '<eos>',
    ]);
    const { train } = arithmeticTask({ operands: 3, operators: ['+', '-'], trainSize: 200 });
    for (const { prompt, demonstration } of train) {
      const text = prompt + demonstration!;
      const { ids } = tokenizer.encode(text, { add_special_tokens: true });
      // Tags survive decoding without special tokens: rewards need them.
      expect(tokenizer.decode(ids, { skip_special_tokens: true })).toBe(text);
      expect(ids.every((id: number) => id >= 2 && id < json('config.json').vocab_size)).toBe(true);
    }
  });

  it('writes a configuration that agrees with the tokenizer and the asked size', () => {
    const config = json('config.json');
    const { vocab } = json('tokenizer.json').model;
    expect(config).toMatchObject({ model_type: 'qwen2', num_hidden_layers: 2, hidden_size: 128 });
    expect(config.vocab_size).toBe(Object.keys(vocab).length);
    expect(json('generation_config.json')).toEqual({
      eos_token_id: [vocab['<eos>']],
      pad_token_id: vocab['<pad>'],
    });
    expect(config.eos_token_id).not.toBe(config.pad_token_id);
  });

  it('refuses a width that the heads cannot share', async () => {
    await expect(writeArithmeticModelFiles(dir, { hiddenSize: 100, heads: 3 })).rejects.toThrow(
      'hiddenSize 100',
    );
  });
});
