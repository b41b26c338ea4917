/** Sampling as a first draft does it: all tokens again for each new one. Faults live in its details. */
import { noGrad, type Tensor, tensor, tidy } from '@grpo/torch';
import { uniform } from '../maths/random.js';
import { type Model, packSegments } from '../models/index.js';
import { draw } from '../rollout/distribution.js';
import type { Completion, GroupRequest, SamplingOptions } from '../rollout/index.js';

/** A completion in the making. */
export interface PlainRow {
  prompt: readonly number[];
  ids: number[];
}

/**
 * Draws completions with the same random numbers as the standard sampler.
 *
 * @param adjust - changes the logits `[n, V]` before a token of each row is drawn
 */
export function plainSample(
  model: Model,
  requests: readonly GroupRequest[],
  options: SamplingOptions,
  seed: number,
  adjust: (logits_NV: Tensor, rows: readonly PlainRow[]) => Tensor,
): Completion[][] {
  return requests.map(({ ids: prompt, count, keys }) => {
    const rows = Array.from({ length: count }, () => ({
      prompt,
      ids: [] as number[],
      logprobs: [] as number[],
      sampledLogprobs: [] as number[],
    }));
    for (let t = 0; t < options.maxNewTokens; t++) {
      const active = rows.filter(({ ids }) => !model.endIds.has(ids.at(-1) ?? -1));
      if (active.length === 0) break;
      const drawn = noGrad(() =>
        tidy(() => {
          const logits_NV = nextLogits(model, active);
          const adjusted_NV = adjust(logits_NV, active);
          const rules = active.map((row) => ({
            options: { ...options, ...NO_PENALTIES },
            uniform: uniform(seed, ...keys, rows.indexOf(row), t),
            ...{ generated: [], mayEnd: true },
          }));
          const found = draw(adjusted_NV, rules);
          if (adjusted_NV === logits_NV) return found;
          return { ...found, logprobs: logprobsOf(logits_NV, found.tokens, options.temperature) };
        }),
      );
      for (const [i, row] of active.entries()) {
        row.ids.push(drawn.tokens[i]!);
        row.logprobs.push(drawn.logprobs[i]!);
        row.sampledLogprobs.push(drawn.sampledLogprobs[i]!);
      }
    }
    return rows.map(({ ids, logprobs, sampledLogprobs }) => ({
      ids,
      text: model.tokenizer.decodeCompletion(ids, model),
      finishReason: model.endIds.has(ids.at(-1)!) ? ('stop' as const) : ('length' as const),
      logprobs: Float32Array.from(logprobs),
      sampledLogprobs: Float32Array.from(sampledLogprobs),
    }));
  });
}

/** What `adjust` does, it does alone. */
const NO_PENALTIES = { repetitionPenalty: 1, presencePenalty: 0, frequencyPenalty: 0 };

function logprobsOf(logits_NV: Tensor, tokens: readonly number[], temperature: number): Float32Array {
  const index = tensor([...tokens], [tokens.length, 1], { dtype: 'int64', device: logits_NV.device });
  const scaled = logits_NV.div(temperature === 0 ? 1 : temperature);
  return scaled.logSoftmax(-1).gather(1, index).toTypedArray() as Float32Array;
}

function nextLogits({ decoder }: Model, rows: readonly PlainRow[]): Tensor {
  const packed = packSegments(
    rows.map(({ prompt, ids }) => ({ ids: [...prompt, ...ids] })),
    decoder.config,
    decoder.device,
  );
  const lasts = rows.map(({ prompt, ids }, i) => packed.starts[i]! + prompt.length + ids.length - 1);
  const index = tensor(lasts, undefined, { dtype: 'int64', device: decoder.device });
  return decoder.logits(decoder.hidden(packed, packed.attend).indexSelect(0, index));
}
