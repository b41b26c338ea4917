import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { loadModel, OwningDecoder } from '../models/index.js';
import { type Generation, generationCheck, tryGeneration } from './generations.js';

const model = loadModel(fileURLToPath(new URL('../../../../parity/fixtures/models/qwen2', import.meta.url)));

it('completes prompts greedily once, and at temperatures several times', async () => {
  const rows = [...'abcdefgh'].map((name, i) => ({ name, ids: [11 + i, 12, 13 + i] }));
  const found = await tryGeneration(model, rows);
  expect(
    found.filter(({ prompt }) => prompt === 'a').map((one) => [one.temperature, one.maxNewTokens]),
  ).toEqual([0, 0.7, 1].flatMap((temperature) => [50, 100].map((limit) => [temperature, limit])));
  for (const { temperature, completions, lengths, maxNewTokens, ended } of found) {
    expect(completions).toBe(temperature === 0 ? 1 : 4);
    expect(lengths[1]).toBeLessThanOrEqual(maxNewTokens);
    if (ended === 0) expect(lengths[0]).toBe(maxNewTokens);
  }
  // A completion that ends later than a limit has not ended within it.
  const pairs = found
    .filter(({ maxNewTokens }) => maxNewTokens === 50)
    .map((one) => {
      const same = ({ prompt, temperature }: Generation) =>
        prompt === one.prompt && temperature === one.temperature;
      return { early: one.ended, whole: found.findLast(same)!.ended, unended: one.lengths[0] === 50 };
    });
  expect(pairs.some(({ early, whole }) => early < whole)).toBe(true);
  for (const { early, unended } of pairs) if (unended) expect(early).toBe(0);
  // Greedy at the smaller limit is the beginning of greedy at the larger one.
  const [short, long] = found.filter(({ temperature, prompt }) => temperature === 0 && prompt === 'a');
  expect(long!.text.startsWith(short!.text.replace(/\uFFFD+$/, ''))).toBe(true);
});

it('fills the smaller limit only with a masked-diffusion model', async () => {
  const { config, parameters } = model.decoder;
  const diffusion = { maskId: 263, shifted: false };
  const masked = { ...model, decoder: new OwningDecoder({ ...config, diffusion }, parameters) };
  const found = await tryGeneration(masked, [{ name: 'a', ids: [11, 12, 13] }]);
  expect(found.map((one) => [one.temperature, one.maxNewTokens])).toEqual([0, 0.7, 1].map((t) => [t, 50]));
  expect(generationCheck(found.map((one) => ({ ...one, ended: 0 }))).says).toMatch(/within 50 tokens/);
});

it('judges blank completions, equal ones, and those that never end', () => {
  const one: Generation = {
    prompt: 'a',
    temperature: 1,
    maxNewTokens: 50,
    completions: 4,
    ended: 2,
    lengths: [3, 50],
    distinct: 4,
    blank: 0,
    text: 'x',
  };
  expect(generationCheck([one])).toMatchObject({ verdict: 'pass' });
  expect(generationCheck([{ ...one, blank: 3 }])).toMatchObject({ verdict: 'warn' });
  expect(generationCheck([{ ...one, distinct: 1 }]).says).toMatch(/the same at temperature 1/);
  expect(generationCheck([{ ...one, ended: 0 }]).says).toMatch(/^None of 4/);
});
