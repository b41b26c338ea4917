import { memory } from '@grpo/torch';
import { expect, it } from 'vitest';
import { cacheBytes } from '../memory/decoding.js';
import type { DecodingCache } from './decoding-cache.js';
import { FusedCache } from './fused-cache.js';
import { KvCache } from './kv-cache.js';
import { architectures, fixture } from './rollout.test.helper.js';

// A model that was collected in between would be counted.
const models = new Map(architectures.map((name) => [name, fixture(name)]));
const prompts = [
  { length: 5, count: 3, newTokens: 21 },
  { length: 33, count: 2, newTokens: 7 },
];
const lot = { prompts: 2, longest: 33, rows: 5, mostPerPrompt: 3, newTokens: 21 };

it.each(architectures)('a cache of %s takes what the plan says', (name) => {
  const { decoder } = models.get(name)!;
  const { config, dtype, device } = decoder;
  const bytesOf = (cache: DecodingCache) => {
    const before = memory().bytes;
    cache.join(prompts);
    const { bytes } = memory();
    cache.drop([4, 3, 2, 1, 0]);
    expect(memory().bytes).toBe(before);
    return bytes - before;
  };
  const size = 4;
  expect(bytesOf(new FusedCache(decoder))).toBe(cacheBytes(config, { size, fuses: true }, lot));
  // Beside keys and values there are a mask, and the places of the step's tokens.
  const plain = bytesOf(new KvCache(config, { dtype, device }));
  const planned = cacheBytes(config, { size, fuses: false }, lot) / 1.75;
  expect(plain).toBeGreaterThan(planned);
  expect(plain).toBeLessThan(planned + 1000);
});
