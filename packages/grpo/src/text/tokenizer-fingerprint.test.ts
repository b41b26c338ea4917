import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { tempFolder } from '../formats/temp-folder.test.helper.js';
import { writeArithmeticModelFiles } from '../tasks/arithmetic/arithmetic-model.js';
import { Tokenizer } from './tokenizer.js';
import { tokenizerFingerprint } from './tokenizer-fingerprint.js';

/** The fingerprint of the tiny model's tokenizer, with a change in its file. */
async function fingerprint(change: (text: string) => string = (text) => text): Promise<string> {
  const dir = tempFolder();
  await writeArithmeticModelFiles(dir);
  const file = join(dir, 'tokenizer.json');
  const text = readFileSync(file, 'utf8');
  writeFileSync(file, change(text));
  return tokenizerFingerprint(Tokenizer.load(dir));
}

it('is the same for the same tokens, and another where one differs', async () => {
  const own = await fingerprint();
  expect(await fingerprint()).toBe(own);
  expect(await fingerprint((text) => text.replaceAll('<answer>', '<ansver>'))).not.toBe(own);
});
