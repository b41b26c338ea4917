import { afterEach, expect, it, vi } from 'vitest';
import { DEVICE } from '../device.test.helper.js';
import { Dice } from '../formats/mutate.test.helper.js';
import { Decoder } from '../models/index.js';
import { described, randomDecoder, randomShape } from '../models/random-shape.test.helper.js';
import { plainSampling } from './completion.js';
import { logSoftmax } from './reference.test.helper.js';
import { expectedOf, fixture, packedLogits, range } from './rollout.test.helper.js';
import { sample } from './sampler.js';

afterEach(() => {
  vi.restoreAllMocks();
});

const { prompts } = expectedOf('qwen3');
const like = fixture('qwen3');

it.each(range(12))('shape %i is decoded with the log-probs of a pack', async (seed) => {
  const config = randomShape(new Dice(seed + 40), like.decoder.config.vocabSize);
  const model = { ...like, decoder: randomDecoder(config, seed, 'float32', DEVICE) };
  const requests = prompts.slice(0, 3).map((ids, i) => ({ ids, count: 2, keys: [i] }));
  for (const fuses of [true, false]) {
    if (!fuses) vi.spyOn(Decoder.prototype, 'fuses', 'get').mockReturnValue(false);
    const groups = await sample(model, requests, { ...plainSampling, maxNewTokens: 12 }, seed);
    for (const [i, { ids }] of requests.entries()) {
      for (const completion of groups[i]!) {
        const logits = packedLogits(model, [...ids, ...completion.ids]);
        for (const [place, token] of completion.ids.entries()) {
          const expected = logSoftmax(logits[ids.length + place - 1]!, 1)[token]!;
          const distance = Math.abs(completion.logprobs[place]! - expected);
          expect(distance, described(config)).toBeLessThan(2e-5);
        }
      }
    }
  }
});
