import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { sharedFolder } from '../../formats/temp-folder.test.helper.js';
import { call } from '../grpo.test.helper.js';

const dir = sharedFolder();
const tiny = (...argv: string[]) => call(dir, 'tiny-model', ...argv);
const weights = (name: string) => readFileSync(join(dir, name, 'model.safetensors'));

it('writes a model that generates, and the seed draws its weights', async () => {
  expect(await tiny('a')).toMatchObject({ code: 0, out: expect.stringContaining('Model: a (0.4 million') });
  expect(await tiny('b', '--seed', '1')).toMatchObject({ code: 0 });
  expect(weights('a').equals(weights('b'))).toBe(false);
  const said = await call(dir, 'generate', 'model=a', '--prompt', 'abc', 'rollout.maxNewTokens=4');
  expect(said.code, said.err).toBe(0);
});

it('refuses what it cannot do', async () => {
  expect(await tiny()).toMatchObject({ code: 2, err: expect.stringContaining('needs one folder') });
  expect(await tiny('c', '--seed', 'x')).toMatchObject({
    code: 2,
    err: expect.stringContaining("found 'x'"),
  });
  expect(await tiny('a', '--seed', '2')).toMatchObject({
    code: 1,
    err: expect.stringContaining('holds something else'),
  });
});
