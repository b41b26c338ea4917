import { cat, ones, type Tensor, tensor } from '@grpo/torch';
import type { PlainModel } from './plain-model.js';
import { type PlainShape, plainShape } from './plain-shape.js';
import { PlainTensors } from './plain-tensors.js';

/** The tensors of a layer, and where the parts of the layer have them. */
export const layerTensors = (model: PlainModel, layer: number): PlainTensors =>
  new PlainTensors(model, `${PREFIXES[plainShape(model.config).family] ?? 'model.layers'}.${layer}.`);

const PREFIXES: Partial<Record<PlainShape['family'], string>> = {
  gpt2: 'transformer.h',
  llada: 'model.transformer.blocks',
};

/** One layer over one whole sequence: `[L, D]` → `[L, D]`. */
export const layerOutput = (tensors: PlainTensors, x: Tensor): Tensor =>
  tensors.shape.family === 'gpt2' ? gpt2Layer(tensors, x) : rotaryLayer(tensors, x);

/** Names of the parts of a layer with rotated heads. */
const LLAMA_PARTS = {
  attentionNorm: 'input_layernorm',
  heads: (letter: 'q' | 'k' | 'v') => `self_attn.${letter}_proj`,
  attended: 'self_attn.o_proj',
  innerNorm: 'post_attention_layernorm',
  gate: 'mlp.gate_proj',
  up: 'mlp.up_proj',
  down: 'mlp.down_proj',
};
const LLADA_PARTS: typeof LLAMA_PARTS = {
  attentionNorm: 'attn_norm',
  heads: (letter) => `${letter}_proj`,
  attended: 'attn_out',
  innerNorm: 'ff_norm',
  gate: 'ff_proj',
  up: 'up_proj',
  down: 'ff_out',
};

function gpt2Layer(tensors: PlainTensors, x: Tensor): Tensor {
  const { shape } = tensors;
  const width = shape.heads * shape.headDim;
  const qkv = tensors.project('attn.c_attn', tensors.norm('ln_1', x));
  const [q, k, v] = [0, 1, 2].map((part) => headsOf(qkv.narrow(1, part * width, width), shape));
  const middle = x.add(tensors.project('attn.c_proj', attend(q!, k!, v!, shape)));
  const inner = activated(shape, tensors.project('mlp.c_fc', tensors.norm('ln_2', middle)));
  return middle.add(tensors.project('mlp.c_proj', inner));
}

function rotaryLayer(tensors: PlainTensors, x: Tensor): Tensor {
  const { shape } = tensors;
  const names = shape.family === 'llada' ? LLADA_PARTS : LLAMA_PARTS;
  const input = tensors.norm(names.attentionNorm, x);
  const part = (letter: 'q' | 'k' | 'v') => headsOf(tensors.project(names.heads(letter), input), shape);
  const turned = (letter: 'q' | 'k') => {
    const heads = part(letter);
    return rotated(
      shape.family === 'qwen3' ? tensors.norm(`self_attn.${letter}_norm`, heads) : heads,
      shape.frequencies,
    );
  };
  const attended = attend(turned('q'), turned('k'), part('v'), shape);
  const middle = x.add(tensors.project(names.attended, attended));
  const second = tensors.norm(names.innerNorm, middle);
  const gate = activated(shape, tensors.project(names.gate, second));
  return middle.add(tensors.project(names.down, gate.mul(tensors.project(names.up, second))));
}

/** `[L, heads × headDim]` → `[heads, L, headDim]`. */
const headsOf = (x: Tensor, { headDim }: PlainShape): Tensor =>
  x.reshape([x.size(0), -1, headDim]).transpose(0, 1);

/** Each query sees the keys up to its own place, or both ways all: `[heads, L, headDim]` → `[L, heads × headDim]`. */
function attend(q: Tensor, k: Tensor, v: Tensor, { bothWays }: PlainShape): Tensor {
  const served = q.size(0) / k.size(0);
  const spread = (x: Tensor) => (served === 1 ? x : x.repeatInterleave(served, 0));
  const length = q.size(1);
  const scores = q.matmul(spread(k).transpose(1, 2)).div(Math.sqrt(q.size(2)));
  const future = () => ones([length, length], { dtype: 'bool', device: q.device }).tril().logicalNot();
  const seen = bothWays ? scores : scores.maskedFill(future(), Number.NEGATIVE_INFINITY);
  const weights = seen.softmax(-1);
  return weights.matmul(spread(v)).transpose(0, 1).reshape([length, -1]);
}

/** Turns the pairs (i, i + headDim / 2) of each place by its number times their frequency. */
function rotated(x: Tensor, frequencies: readonly number[]): Tensor {
  const [length, half] = [x.size(1), frequencies.length];
  // Angles are float32, as transformers has them.
  const angles = Float32Array.from({ length: length * half }, (_, i) =>
    Math.fround(Math.floor(i / half) * Math.fround(frequencies[i % half]!)),
  );
  const table = (of: (angle: number) => number) =>
    tensor(Float32Array.from(angles, of), [length, half], { device: x.device });
  const [cos, sin] = [table(Math.cos), table(Math.sin)];
  const [a, b] = [x.narrow(2, 0, half), x.narrow(2, half, half)];
  return cat([a.mul(cos).sub(b.mul(sin)), b.mul(cos).add(a.mul(sin))], 2);
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
