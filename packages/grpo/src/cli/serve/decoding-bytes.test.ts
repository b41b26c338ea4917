import { fileURLToPath } from 'node:url';
import { compilesEachShape } from '@grpo/torch';
import { expect, it } from 'vitest';
import { resolveConfig } from '../../config/index.js';
import { estimate } from '../../memory/estimate.js';
import { roomOfLots } from '../../memory/room.js';
import { leastServingBytes } from '../../memory/serving.js';
import { readShape } from '../../models/index.js';
import { decodingBytes } from './decoding-bytes.js';

const model = {
  ...readShape(fileURLToPath(new URL('../../../../../parity/fixtures/models/qwen2', import.meta.url))),
  layers: 24,
  hiddenSize: 896,
  intermediateSize: 4864,
  headDim: 64,
  heads: 14,
  kvHeads: 2,
  vocabSize: 151_936,
};
const engine = { size: 4, fuses: true } as const;

function bytes(memory: string, maxModelLen: number, takesAll = false): number {
  const resolved = resolveConfig({ command: 'serve', settings: [`memory=${memory}`, 'device=cpu'] });
  return decodingBytes(resolved, { config: model }, { maxModelLen, takesAll });
}

const longest = (length: number) =>
  leastServingBytes(model, engine, { length: length - 1, count: 1, newTokens: 1, adjusted: true });

it('leave room for the longest sequence, and what makes decoding faster', () => {
  for (const length of [128, 2048, 32_768]) {
    const room = roomOfLots(model, engine, bytes('24GB', length));
    expect(room).toBeGreaterThanOrEqual(longest(length));
    expect(room).toBeGreaterThanOrEqual(2 ** 29);
    expect(room).toBeLessThanOrEqual(Math.max(longest(length), 2 ** 31));
  }
});

it('are all that a given memory leaves', () => {
  const compiles = compilesEachShape('float32');
  const { free } = estimate({ model, engine, compiles, trained: undefined, rewardModels: 0 }, 24e9);
  expect(bytes('24GB', 128, true)).toBe(free);
});

it('are refused with a length that would fit', () => {
  const message = () => bytes('6GB', 131_072);
  expect(message).toThrow(/^one sequence of 131072 tokens needs [\d.]+ GB beside the model; memory, 6\.0 GB/);
  expect(() => bytes('6GB', 16_384)).toThrow(/needs/);
  expect(() => bytes('6GB', 8192)).not.toThrow();
  expect(() => bytes('1GB', 64)).toThrow(/leaves 0 bytes/);
});
