import { appendFileSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { tempFolder } from '../formats/temp-folder.test.helper.js';
import { loadModel } from '../models/index.js';
import { renderPrompt } from '../text/render.js';
import { writeTinyModel } from './tiny-model.js';

const size = { hiddenSize: 16, heads: 2, layers: 1, intermediateSize: 32 };

it('makes a model that loads, reads every byte and speaks in turns', async () => {
  const dir = await writeTinyModel(join(tempFolder(), 'deep', 'tiny'), size);
  const { decoder, tokenizer, template } = loadModel(dir);
  using _ = decoder;
  expect(decoder.config).toMatchObject({ layers: 1, hiddenSize: 16 });
  expect(tokenizer.decode(tokenizer.encode('é\u0000🙂'))).toBe('é\u0000🙂');
  const chat = renderPrompt(tokenizer, template, [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'Who?' },
  ]);
  expect(chat.text).toBe('system: Be brief.\nuser: Who?\nassistant: ');
  expect(chat.generationPrompt).toBe(true);
});

it('makes a masked-diffusion model, which is read back as one', async () => {
  const dir = await writeTinyModel(join(tempFolder(), 'masked'), { ...size, family: 'a2d-qwen2' });
  const { decoder, tokenizer } = loadModel(dir);
  using _ = decoder;
  expect(decoder.config.diffusion).toEqual({ maskId: tokenizer.maskId, shifted: false });
  expect(decoder.config.vocabSize).toBe(tokenizer.vocabSize);
});

it('leaves the same model alone, and refuses to replace another', async () => {
  const dir = join(tempFolder(), 'tiny');
  const weights = () => readFileSync(join(dir, 'model.safetensors'));
  await writeTinyModel(dir, size);
  const before = weights();
  expect(await writeTinyModel(dir, size)).toBe(dir);
  expect(weights().equals(before)).toBe(true);
  await expect(writeTinyModel(dir, { ...size, seed: 1 })).rejects.toThrow(`${dir} holds something else`);
  expect(weights().equals(before)).toBe(true);
  appendFileSync(join(dir, 'config.json'), ' ');
  await expect(writeTinyModel(dir, size)).rejects.toThrow('holds something else');
  expect(readdirSync(dirname(dir))).toEqual(['tiny']);
});
