import { uniform } from '../maths/random.js';
import type { Model } from '../models/index.js';
import type { SamplingOptions } from './completion.js';
import { adjust, logSoftmax, truncated } from './reference.test.helper.js';
import { packedLogits, range } from './rollout.test.helper.js';

/** What a masked-diffusion model filled into the places after a prompt. */
export interface PlainRegion {
  ids: number[];
  order: number[];
  logprobs: number[];
  sampledLogprobs: number[];
}

/**
 * Fills one completion as LLaDA's published loop does, in double precision and with the sampler's random numbers: one
 * sequence, all logits, one place after another.
 *
 * @param passes - of each block
 */
export function plainDenoise(
  model: Model,
  { prompt, keys, seed }: { prompt: readonly number[]; keys: readonly number[]; seed: number },
  options: SamplingOptions,
  passes: readonly number[],
): PlainRegion {
  const { maskId, shifted } = model.decoder.config.diffusion!;
  const { maxNewTokens: width, temperature, minNewTokens, diffusion } = options;
  const blockLength = diffusion.blockLength ?? width;
  const region = Array<number>(width).fill(maskId);
  const [order, logprobs, sampledLogprobs] = range(3).map(() => Array<number>(width).fill(-1));
  const pick = (logits: readonly number[], place: number, step: number) => {
    const forbidden = new Set([maskId, ...(place < minNewTokens ? model.endIds : [])]);
    const allowed = adjust(logits, [], forbidden, options);
    if (temperature === 0) {
      const token = allowed.indexOf(Math.max(...allowed));
      return { token, logprob: logSoftmax(logits)[token]!, sampled: 0 };
    }
    const sampled = truncated(allowed, options);
    const u = uniform(seed, ...keys, step, place);
    let below = 0;
    const token = sampled.findIndex((x) => {
      below += Math.exp(x);
      return u < below;
    });
    return { token, logprob: logSoftmax(logits, temperature)[token]!, sampled: sampled[token]! };
  };
  let step = 0;
  for (const [b, count] of passes.entries()) {
    const block = range(width).slice(b * blockLength, (b + 1) * blockLength);
    for (let left = count; left > 0; left--, step++) {
      const logits = packedLogits(model, [...prompt, ...region]);
      const masked = block.filter((place) => region[place] === maskId);
      const found = masked.map((place) => {
        const row = logits[prompt.length + place - (shifted ? 1 : 0)]!;
        const picked = pick(row, place, step);
        const confidence =
          diffusion.remasking === 'random'
            ? uniform(seed, ...keys, step, place, 1)
            : logSoftmax(row)[picked.token]!;
        return { place, confidence, ...picked };
      });
      found.sort((a, b) => b.confidence - a.confidence);
      for (const { place, token, logprob, sampled } of found.slice(0, Math.ceil(masked.length / left))) {
        region[place] = token;
        order![place] = step;
        logprobs![place] = logprob;
        sampledLogprobs![place] = sampled;
      }
    }
  }
  return { ids: region, order: order!, logprobs: logprobs!, sampledLogprobs: sampledLogprobs! };
}
