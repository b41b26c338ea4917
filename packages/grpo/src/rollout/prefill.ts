import { cat, type Tensor, tensor, tidy } from '@grpo/torch';
import { type Engine, prefillParts } from '../memory/decoding.js';
import { type Attend, type DecodingDecoder, packSegments } from '../models/index.js';
import type { Watch } from '../progress/watch.js';
import type { DecodingCache } from './decoding-cache.js';

/**
 * Computes the prompts that joined the cache last, each once, and stores their keys and values there.
 *
 * @param limits.lotBytes - a share of it bounds what is computed together
 * @returns logits after the last token of each: `[prompts, V]`
 */
export function prefill(
  decoder: DecodingDecoder,
  cache: DecodingCache,
  prompts: readonly (readonly number[])[],
  limits: { engine: Engine; lotBytes: number },
  watch: Watch,
): Tensor {
  const lengths = prompts.map(({ length }) => length);
  const parts = prefillParts(decoder.config, limits.engine, lengths, limits.lotBytes);
  const total = lengths.reduce((sum, length) => sum + length, 0);
  let done = 0;
  const lasts = parts.map(({ from, to }) => {
    const some = prompts.slice(from, to);
    const tokens = lengths.slice(from, to).reduce((sum, length) => sum + length, 0);
    const last = tidy(() =>
      prefillPart(decoder, cache, some, from, (share) =>
        watch.report({ stage: 'rollout', done: done + share * tokens, total, unit: 'prompt tokens' }),
      ),
    );
    done += tokens;
    return last;
  });
  return decoder.logits(cat(lasts));
}

/** Computes some of the prompts, the first of which is the `first` of all: hidden states of their last tokens. */
function prefillPart(
  decoder: DecodingDecoder,
  cache: DecodingCache,
  prompts: readonly (readonly number[])[],
  first: number,
  report: (share: number) => void,
): Tensor {
  const { config, device } = decoder;
  const packed = packSegments(
    prompts.map((ids) => ({ ids })),
    config,
    device,
    undefined, // no number of rows is compiled: the weights are laid out
    'forward',
  );
  const attend: Attend = (layer, q, k, v) => {
    for (const [i, { length }] of prompts.entries()) {
      const own = (x: Tensor) => x.narrow(0, packed.starts[i]!, length);
      cache.storePrompt(layer, first + i, own(k), own(v));
    }
    report(layer / config.layers);
    return packed.attend(layer, q, k, v);
  };
  const lasts = prompts.map(({ length }, i) => packed.starts[i]! + length - 1);
  return decoder.hidden(packed, attend).indexSelect(0, tensor(lasts, undefined, { dtype: 'int64', device }));
}
