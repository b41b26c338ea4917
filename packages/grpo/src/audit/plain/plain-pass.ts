import type { Slopes } from '../../doctor/recompute/policy-slopes.js';
import type { PlainModel } from './plain-model.js';
import { plainShape } from './plain-shape.js';
import type { Support } from './plain-support.js';

/** A completion with the prompt that it answers. */
export interface PlainSequence {
  prompt: readonly number[];
  completion: readonly number[];
  /** The ids that each token could have been drawn from, over which it is scored; of all where this is not given. */
  support?: Support | undefined;
  /** Of a masked-diffusion model: all tokens of the region that the completion begins, and the passes that score it. */
  masked?: { region: readonly number[]; plan: readonly PlainView[] } | undefined;
}

/** What a pass over a prompt and its region hides. */
export interface PlainView {
  /** 1 where hidden: `[P]`. */
  prompt: ArrayLike<number>;
  /** `[W]`. */
  region: ArrayLike<number>;
  /** 1 where a hidden token is scored; all are where this is not given. */
  scored?: ArrayLike<number>;
  /** The share of the pass in a token's log-prob. */
  weight: number;
}

/** One forward pass, and the tokens of a completion that it scores. */
export interface PlainPass {
  input: readonly number[];
  /** Their places in the completion: `[M]`. */
  tokens: readonly number[];
  /** Their ids. */
  targets: readonly number[];
  /** Rows of the pass that predict them. */
  rows: readonly number[];
  support?: Support | undefined;
  /** What their log-probs in this pass count. */
  weight: number;
}

/** The passes that score a completion: one of a causal model, over all tokens but the last, which predicts nothing. */
export function passesOf(
  { config, maskId }: PlainModel,
  { prompt, completion, support, masked }: PlainSequence,
): PlainPass[] {
  const pass = (input: number[], tokens: number[], distance: number, weight: number): PlainPass => ({
    input,
    tokens,
    targets: tokens.map((t) => completion[t]!),
    rows: tokens.map((t) => prompt.length + t - distance),
    weight,
  });
  if (!masked)
    return [{ ...pass([...prompt, ...completion.slice(0, -1)], [...completion.keys()], 1, 1), support }];
  if (maskId === undefined) throw new Error('the model has no mask token');
  const distance = plainShape(config).shifted ? 1 : 0;
  return masked.plan.flatMap((view) => {
    const hide = (ids: readonly number[], hidden: ArrayLike<number>) =>
      ids.map((id, place) => (hidden[place] ? maskId : id));
    const scored = view.scored ?? view.region;
    const tokens = [...completion.keys()].filter((t) => scored[t] === 1);
    const input = [...hide(prompt, view.prompt), ...hide(masked.region, view.region)];
    return tokens.length > 0 ? [pass(input, tokens, distance, view.weight)] : [];
  });
}

/** Values of all passes, sequence by sequence. */
export function perSequence<T>(passes: readonly (readonly PlainPass[])[], values: readonly T[]): T[][] {
  let first = 0;
  return passes.map(({ length }) => {
    first += length;
    return values.slice(first - length, first);
  });
}

/** How many passes score each token. */
export function countPasses(passes: readonly PlainPass[], length: number): Uint32Array {
  const counts = new Uint32Array(length);
  for (const { tokens } of passes) for (const t of tokens) counts[t]!++;
  return counts;
}

/** The slopes of a loss in what each pass gives, from those in the log-probs and entropies of the completion. */
export function passSlopes(passes: readonly PlainPass[], { logprobs, entropies }: Slopes): Slopes[] {
  const counts = countPasses(passes, logprobs.length);
  return passes.map(({ tokens, weight }) => ({
    logprobs: Float64Array.from(tokens, (t) => weight * logprobs[t]!),
    entropies: Float64Array.from(tokens, (t) => entropies[t]! / counts[t]!),
  }));
}
