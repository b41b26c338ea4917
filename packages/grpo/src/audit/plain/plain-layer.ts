import { cat, grad, noGrad, type Tensor, tensor } from '@grpo/torch';
import { attended, attendedSlopes, type Heads } from './plain-attention.js';
import type { PlainModel } from './plain-model.js';
import type { PlainRope } from './plain-rope.js';
import { type PlainAttention, type PlainShape, plainShape } from './plain-shape.js';
import { PlainTensors } from './plain-tensors.js';

type Family = PlainShape['family'];

/** The tensors of a layer, and where the parts of the layer have them. */
export const layerTensors = (model: PlainModel, layer: number): PlainTensors =>
  new PlainTensors(model, `${PREFIXES[plainShape(model.config).family] ?? 'model.layers'}.${layer}.`);

const PREFIXES: Partial<Record<Family, string>> = {
  gpt2: 'transformer.h',
  llada: 'model.transformer.blocks',
};

/** One layer over one whole sequence, `[L, D]` → `[L, D]`, by its tensors and its number. */
export function layerOutput(tensors: PlainTensors, layer: number, x: Tensor): Tensor {
  const { heads, window, output } = sidesOf(tensors, layer);
  return output(x, attended(tensors, heads(x), window));
}

/**
 * Slopes in some of what a layer is computed from, by those in its output. Its attention has no part in a graph.
 *
 * @param x - the input
 * @param leaves - the input and tensors of the layer, of which gradients are taken
 * @returns null for one that has no effect
 */
export function layerSlopes(
  tensors: PlainTensors,
  layer: number,
  x: Tensor,
  leaves: readonly Tensor[],
  slopes: Tensor,
): (Tensor | null)[] {
  const { heads, window, output } = sidesOf(tensors, layer);
  const made = heads(x);
  const mixed = noGrad(() => attended(tensors, made, window));
  mixed.requiresGrad = true;
  const [above, ...after] = grad([output(x, mixed)], [mixed, ...leaves], [slopes]);
  const before = grad(made, leaves, attendedSlopes(tensors, made, window, above!));
  return noGrad(() => after.map((one, i) => (one && before[i] ? one.add(before[i]) : (one ?? before[i]!))));
}

/** A layer before and after its attention. */
interface Sides {
  heads(x: Tensor): Heads;
  /** Places that a query sees, its own included. */
  window: number;
  /** The output, from the input and what the heads attended to, `[L, heads × headDim]`. */
  output(x: Tensor, attended: Tensor): Tensor;
}

const sidesOf = (tensors: PlainTensors, layer: number): Sides =>
  tensors.shape.family === 'gpt2' ? gpt2Sides(tensors) : rotarySides(tensors, tensors.shape.layers[layer]!);

/** Names of the parts of a layer with rotated heads. */
interface Parts {
  norms: { beforeAttention?: string; afterAttention?: string; beforeMlp?: string; afterMlp?: string };
  /** One projection each, or one for all. */
  heads: readonly [string, string, string] | readonly [string];
  attended: string;
  /** The gate and what it multiplies: one projection each, or one for both. */
  inner: readonly [string, string] | readonly [string];
  down: string;
}

const LLAMA_PARTS: Parts = {
  norms: { beforeAttention: 'input_layernorm', beforeMlp: 'post_attention_layernorm' },
  heads: ['self_attn.q_proj', 'self_attn.k_proj', 'self_attn.v_proj'],
  attended: 'self_attn.o_proj',
  inner: ['mlp.gate_proj', 'mlp.up_proj'],
  down: 'mlp.down_proj',
};
const AFTER = { afterAttention: 'post_attention_layernorm', afterMlp: 'post_feedforward_layernorm' };
const GEMMA_PARTS: Parts = {
  ...LLAMA_PARTS,
  norms: { ...AFTER, beforeAttention: 'input_layernorm', beforeMlp: 'pre_feedforward_layernorm' },
};
const PARTS: Partial<Record<Family, Parts>> = {
  gemma2: GEMMA_PARTS,
  gemma3: GEMMA_PARTS,
  olmo2: { ...LLAMA_PARTS, norms: AFTER },
  phi3: { ...LLAMA_PARTS, heads: ['self_attn.qkv_proj'], inner: ['mlp.gate_up_proj'] },
  llada: {
    norms: { beforeAttention: 'attn_norm', beforeMlp: 'ff_norm' },
    heads: ['q_proj', 'k_proj', 'v_proj'],
    attended: 'attn_out',
    inner: ['ff_proj', 'up_proj'],
    down: 'ff_out',
  },
};

function gpt2Sides(tensors: PlainTensors): Sides {
  const { shape } = tensors;
  const width = shape.heads * shape.headDim;
  return {
    heads: (x) => {
      const qkv = tensors.project('attn.c_attn', tensors.norm('ln_1', x));
      const part = (at: number) => headsOf(qkv.narrow(1, at * width, width), shape);
      return [part(0), part(1), part(2)];
    },
    window: Infinity,
    output: (x, mixed) => {
      const middle = tensors.rounded(x.add(tensors.project('attn.c_proj', mixed)));
      const inner = activated(shape, tensors.project('mlp.c_fc', tensors.norm('ln_2', middle)));
      return tensors.rounded(middle.add(tensors.project('mlp.c_proj', tensors.rounded(inner))));
    },
  };
}

function rotarySides(tensors: PlainTensors, { window, rope }: PlainAttention): Sides {
  const { shape } = tensors;
  const parts = PARTS[shape.family] ?? LLAMA_PARTS;
  const { norms, inner, down } = parts;
  const normed = (name: string | undefined, y: Tensor) => (name === undefined ? y : tensors.norm(name, y));
  const add = (y: Tensor, added: Tensor) =>
    tensors.rounded(y.add(shape.residualScale === 1 ? added : added.mul(shape.residualScale)));
  const placed = (letter: 'q' | 'k', y: Tensor) => {
    const name = `self_attn.${letter}_norm`;
    const whole = shape.headNorm === 'all' ? tensors.norm(name, y) : y;
    const each = headsOf(whole, shape);
    const even = shape.headNorm === 'each' ? tensors.norm(name, each) : each;
    return rope ? tensors.rounded(rotated(even, rope)) : even;
  };
  return {
    heads: (x) => {
      const widths = [shape.heads, shape.keyHeads, shape.keyHeads].map((count) => count * shape.headDim);
      const [q, k, v] = projected(tensors, parts.heads, widths, normed(norms.beforeAttention, x));
      return [placed('q', q!), placed('k', k!), headsOf(v!, shape)];
    },
    window,
    output: (x, mixed) => {
      const middle = add(x, normed(norms.afterAttention, tensors.project(parts.attended, mixed)));
      const width = tensors.weight(`${down}.weight`).size(1);
      const [gate, up] = projected(tensors, inner, [width, width], normed(norms.beforeMlp, middle));
      const product = tensors.rounded(activated(shape, gate!).mul(up!));
      return add(middle, normed(norms.afterMlp, tensors.project(down, product)));
    },
  };
}

/** What several projections give of one input, or one whose rows are those of all, in order. */
function projected(
  tensors: PlainTensors,
  names: readonly string[],
  widths: readonly number[],
  x: Tensor,
): Tensor[] {
  if (names.length > 1) return names.map((name) => tensors.project(name, x));
  const all = tensors.project(names[0]!, x);
  const start = (part: number) => widths.slice(0, part).reduce((sum, width) => sum + width, 0);
  return widths.map((width, part) => all.narrow(1, start(part), width));
}

/** `[L, heads × headDim]` → `[heads, L, headDim]`. */
const headsOf = (x: Tensor, { headDim }: PlainShape): Tensor =>
  x.reshape([x.size(0), -1, headDim]).transpose(0, 1);

/** Turns the pairs (i, i + half) of the first dimensions of each place by its number times their frequency. */
function rotated(x: Tensor, { frequencies, factor }: PlainRope): Tensor {
  const [length, half] = [x.size(1), frequencies.length];
  // Angles are float32, as transformers has them.
  const angles = Float32Array.from({ length: length * half }, (_, i) =>
    Math.fround(Math.floor(i / half) * Math.fround(frequencies[i % half]!)),
  );
  const table = (of: (angle: number) => number) =>
    tensor(
      Float32Array.from(angles, (angle) => factor * of(angle)),
      [length, half],
      { device: x.device },
    );
  const [cos, sin] = [table(Math.cos), table(Math.sin)];
  const [a, b] = [x.narrow(2, 0, half), x.narrow(2, half, half)];
  const turned = [a.mul(cos).sub(b.mul(sin)), b.mul(cos).add(a.mul(sin))];
  const rest = x.size(2) - 2 * half;
  return cat(rest > 0 ? [...turned, x.narrow(2, 2 * half, rest)] : turned, 2);
}

function activated({ activation }: PlainShape, x: Tensor): Tensor {
  switch (activation) {
    case 'silu':
      return x.silu();
    case 'gelu':
      return x.gelu();
    case 'gelu_new':
    case 'gelu_pytorch_tanh':
      return x.gelu({ approximate: 'tanh' });
    default:
      throw new Error(`the audit knows no activation ${activation}`);
  }
}
