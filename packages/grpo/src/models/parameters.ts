import { sum } from '../maths/moments.js';
import type { DecoderConfig } from './config.js';

/** One tensor of a checkpoint. */
export interface ParameterSpec {
  /** Shape in the checkpoint. */
  shape: readonly number[];
  /** Kept as [in, out]; the decoder holds every projection as [out, in]. */
  transposed: boolean;
  role: 'embedding' | 'projection' | 'bias' | 'norm';
}

/**
 * Where a family keeps the tensors of one layer, without the `.weight` or `.bias` at the end. Norms that a configuration
 * does not have are left out of it.
 */
export interface LayerNames {
  /** Before the attention, and after it. */
  attentionNorm?: string;
  attentionAfterNorm?: string;
  /** One fused projection, or query, key and value. */
  qkv: readonly [string] | readonly [string, string, string];
  queryNorm?: string;
  keyNorm?: string;
  output: string;
  /** Before the feed-forward block, and after it. */
  mlpNorm?: string;
  mlpAfterNorm?: string;
  /** One projection, fused where the block is gated, or the activation's input and its factor. */
  gateUp: readonly [string] | readonly [string, string];
  down: string;
}

/** Where a family keeps its tensors; the learned positions only where it has such. */
export interface ModelNames {
  embedding: string;
  positions?: string;
  layer(index: number): LayerNames;
  finalNorm: string;
  head: string;
  /** Projections of a layer are GPT-2's Conv1D, which keeps [in, out]. */
  conv1d?: boolean;
}

const gpt2Names: ModelNames = {
  embedding: 'transformer.wte',
  positions: 'transformer.wpe',
  layer: (i) => ({
    attentionNorm: `transformer.h.${i}.ln_1`,
    qkv: [`transformer.h.${i}.attn.c_attn`],
    output: `transformer.h.${i}.attn.c_proj`,
    mlpNorm: `transformer.h.${i}.ln_2`,
    gateUp: [`transformer.h.${i}.mlp.c_fc`],
    down: `transformer.h.${i}.mlp.c_proj`,
  }),
  finalNorm: 'transformer.ln_f',
  head: 'lm_head',
  conv1d: true,
};

const rotaryNames: ModelNames = {
  embedding: 'model.embed_tokens',
  layer: (i) => ({
    attentionNorm: `model.layers.${i}.input_layernorm`,
    qkv: [
      `model.layers.${i}.self_attn.q_proj`,
      `model.layers.${i}.self_attn.k_proj`,
      `model.layers.${i}.self_attn.v_proj`,
    ],
    queryNorm: `model.layers.${i}.self_attn.q_norm`,
    keyNorm: `model.layers.${i}.self_attn.k_norm`,
    output: `model.layers.${i}.self_attn.o_proj`,
    mlpNorm: `model.layers.${i}.post_attention_layernorm`,
    gateUp: [`model.layers.${i}.mlp.gate_proj`, `model.layers.${i}.mlp.up_proj`],
    down: `model.layers.${i}.mlp.down_proj`,
  }),
  finalNorm: 'model.norm',
  head: 'lm_head',
};

/** With fused projections. */
const fusedNames: ModelNames = {
  ...rotaryNames,
  layer: (i) => ({
    ...rotaryNames.layer(i),
    qkv: [`model.layers.${i}.self_attn.qkv_proj`],
    gateUp: [`model.layers.${i}.mlp.gate_up_proj`],
  }),
};

/** With norms after the blocks. */
const afterNormNames: ModelNames = {
  ...rotaryNames,
  layer: (i) => ({
    ...rotaryNames.layer(i),
    attentionAfterNorm: `model.layers.${i}.post_attention_layernorm`,
    mlpNorm: `model.layers.${i}.pre_feedforward_layernorm`,
    mlpAfterNorm: `model.layers.${i}.post_feedforward_layernorm`,
  }),
};

const lladaNames: ModelNames = {
  embedding: 'model.transformer.wte',
  layer: (i) => ({
    attentionNorm: `model.transformer.blocks.${i}.attn_norm`,
    qkv: [
      `model.transformer.blocks.${i}.q_proj`,
      `model.transformer.blocks.${i}.k_proj`,
      `model.transformer.blocks.${i}.v_proj`,
    ],
    output: `model.transformer.blocks.${i}.attn_out`,
    mlpNorm: `model.transformer.blocks.${i}.ff_norm`,
    gateUp: [`model.transformer.blocks.${i}.ff_proj`, `model.transformer.blocks.${i}.up_proj`],
    down: `model.transformer.blocks.${i}.ff_out`,
  }),
  finalNorm: 'model.transformer.ln_f',
  head: 'model.transformer.ff_out',
};

const familyNames: Record<DecoderConfig['family'], ModelNames> = {
  gpt2: gpt2Names,
  llama: rotaryNames,
  mistral: rotaryNames,
  qwen2: rotaryNames,
  qwen3: rotaryNames,
  llada: lladaNames,
  smollm3: rotaryNames,
  olmo2: afterNormNames,
  granite: rotaryNames,
  phi3: fusedNames,
  gemma2: afterNormNames,
  gemma3: afterNormNames,
};

/** The names of the tensors that a configuration has. */
export function namesOf({ family, normPlacement, qkNorm }: DecoderConfig): ModelNames {
  const names = familyNames[family];
  const absent: (keyof LayerNames)[] = [
    ...(normPlacement === 'after' ? (['attentionNorm', 'mlpNorm'] as const) : []),
    ...(normPlacement === 'before' ? (['attentionAfterNorm', 'mlpAfterNorm'] as const) : []),
    ...(qkNorm === 'none' ? (['queryNorm', 'keyNorm'] as const) : []),
  ];
  const layer = (index: number) => {
    const all = names.layer(index);
    for (const name of absent) delete all[name];
    return all;
  };
  return { ...names, layer };
}

/** Every tensor of a checkpoint of this shape, by name, in the order in which the decoder uses them. */
export function parameterSpecs(config: DecoderConfig): Map<string, ParameterSpec> {
  const specs = new Map<string, ParameterSpec>();
  const names = namesOf(config);
  const { hiddenSize: D, intermediateSize: I, headDim, heads, kvHeads } = config;
  const { conv1d = false } = names;

  const norm = (name: string | undefined, size = D) => {
    if (name === undefined) return;
    specs.set(`${name}.weight`, { shape: [size], transposed: false, role: 'norm' });
    if (config.norm === 'layer')
      specs.set(`${name}.bias`, { shape: [size], transposed: false, role: 'bias' });
  };
  const projection = (name: string, input: number, output: number, bias: boolean) => {
    specs.set(`${name}.weight`, {
      shape: conv1d ? [input, output] : [output, input],
      transposed: conv1d,
      role: 'projection',
    });
    if (bias) specs.set(`${name}.bias`, { shape: [output], transposed: false, role: 'bias' });
  };
  /** Of one input: one fused, or one for each width. */
  const projections = (names: readonly string[], input: number, widths: readonly number[], bias: boolean) => {
    if (names.length === 1) projection(names[0]!, input, sum(widths), bias);
    else for (const [i, name] of names.entries()) projection(name, input, widths[i]!, bias);
  };

  specs.set(`${names.embedding}.weight`, {
    shape: [config.vocabSize, D],
    transposed: false,
    role: 'embedding',
  });
  if (names.positions) {
    specs.set(`${names.positions}.weight`, {
      shape: [config.maxPositions, D],
      transposed: false,
      role: 'embedding',
    });
  }
  for (let i = 0; i < config.layers; i++) {
    const layer = names.layer(i);
    norm(layer.attentionNorm);
    projections(layer.qkv, D, [heads * headDim, kvHeads * headDim, kvHeads * headDim], config.qkvBias);
    const isWhole = config.qkNorm === 'whole';
    norm(layer.queryNorm, isWhole ? heads * headDim : headDim);
    norm(layer.keyNorm, isWhole ? kvHeads * headDim : headDim);
    projection(layer.output, heads * headDim, D, config.outputBias);
    norm(layer.attentionAfterNorm);
    norm(layer.mlpNorm);
    projections(layer.gateUp, D, config.gated ? [I, I] : [I], config.mlpBias);
    projection(layer.down, I, D, config.mlpBias);
    norm(layer.mlpAfterNorm);
  }
  norm(names.finalNorm);
  // The head is never Conv1D, not even GPT-2's.
  if (!config.tied)
    specs.set(`${names.head}.weight`, {
      shape: [config.vocabSize, D],
      transposed: false,
      role: 'projection',
    });
  return specs;
}
