import { expect, it } from 'vitest';
import { engine as plain, config as small } from './lots.test.helper.js';
import { activationRoom, type Backward, chunkRows, passBytes } from './pass-bytes.js';

const config = { ...small, vocabSize: 60_000 };
const backward: Backward = { reaches: 'weights', recomputes: false };
const BYTES = 1e12;

it.each([true, false])('logits of any number of tokens fit beside the activations, fused %s', (fuses) => {
  const engine = { ...plain, fuses };
  const left = BYTES - activationRoom(config, engine, backward, BYTES);
  const rows = chunkRows(config.vocabSize);
  const taken = [0, 1, rows, rows + 1, 2 * rows, 2 * rows + 1, 5 * rows - 3].map((scored) =>
    passBytes(config, engine, { tokens: 0, scored }, backward),
  );
  for (const bytes of taken) expect(bytes).toBeLessThanOrEqual(left);
  expect(Math.max(...taken)).toBe(left);
});
