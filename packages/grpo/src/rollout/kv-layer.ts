import { type DType, keep, type Tensor, tensor, tidy, zeros } from '@grpo/torch';
import type { DecoderConfig } from '../models/index.js';
import type { SharedPrompt } from './decoding-cache.js';

/** Keys and values of a layer. */
export interface KvLayer {
  /** Tokens of the prompts: `[prompts, kvHeads, longest prompt, headDim]`. */
  prompt: { k: Tensor; v: Tensor };
  /** Generated tokens: `[prompts, places, kvHeads, columns, headDim]`. */
  own: { k: Tensor; v: Tensor };
}

/** Sizes of a cache. */
export interface KvShape {
  prompts: readonly SharedPrompt[];
  /** Places per prompt. */
  places: number;
  /** Longest prompt, in tokens. */
  longest: number;
  /** Columns to leave room for. */
  newTokens: number;
}

export const shapeOf = (prompts: readonly SharedPrompt[]): KvShape => ({
  prompts,
  places: Math.max(...prompts.map(({ count }) => count)),
  longest: Math.max(...prompts.map(({ length }) => length)),
  newTokens: Math.max(...prompts.map(({ newTokens }) => newTokens)),
});

/** What a new layer takes over from an old one. */
export interface KvMoves {
  layer: KvLayer;
  /** Prompts that become the first ones. */
  prompts: readonly number[];
  /** Places of rows, before and afterwards. */
  from: readonly number[];
  to: readonly number[];
  /** Columns that are written. */
  written: number;
}

/** A layer of this shape; what it does not take over is 0. */
export function makeLayer(
  { prompts, places, longest, newTokens }: KvShape,
  { kvHeads, headDim }: DecoderConfig,
  like: { dtype: DType; device: string },
  moves?: KvMoves,
): KvLayer {
  const pair = (sizes: number[]) => ({ k: zeros(sizes, like), v: zeros(sizes, like) });
  // A scope, so that nothing stays when memory runs out half-way.
  return tidy(() => {
    const made = {
      prompt: pair([prompts.length, kvHeads, longest, headDim]),
      own: pair([prompts.length, places, kvHeads, newTokens, headDim]),
    };
    if (moves && moves.from.length > 0) takeOver(made, moves, like.device);
    for (const tensor of tensorsOf(made)) keep(tensor);
    return made;
  });
}

export function disposeLayer(layer: KvLayer): void {
  for (const tensor of tensorsOf(layer)) tensor.dispose();
}

function takeOver(made: KvLayer, { layer, prompts, from, to, written }: KvMoves, device: string): void {
  const index = (places: readonly number[]) => tensor(places, undefined, { dtype: 'int64', device });
  const [prompts_P, from_N, to_N] = [index(prompts), index(from), index(to)];
  const tokens = Math.min(layer.prompt.k.size(2), made.prompt.k.size(2));
  for (const x of ['k', 'v'] as const) {
    const ofPrompts = layer.prompt[x].indexSelect(0, prompts_P).narrow(2, 0, tokens);
    made.prompt[x].narrow(0, 0, prompts.length).narrow(2, 0, tokens).copy_(ofPrompts);
    const ofRows = layer.own[x].flatten(0, 1).indexSelect(0, from_N).narrow(2, 0, written);
    made.own[x].flatten(0, 1).narrow(2, 0, written).indexCopy_(0, to_N, ofRows);
  }
}

const tensorsOf = ({ prompt, own }: KvLayer): Tensor[] => [prompt.k, prompt.v, own.k, own.v];

/** −∞ behind the last token of each prompt: float32 `[prompts, 1, 1, 1, longest]`. */
export function maskOf({ prompts, longest }: KvShape, device: string): Tensor {
  const mask = zeros([prompts.length, 1, 1, 1, longest], { device });
  for (const [p, { length }] of prompts.entries())
    mask
      .select(0, p)
      .narrow(-1, length, longest - length)
      .fill_(Number.NEGATIVE_INFINITY);
  return mask;
}
