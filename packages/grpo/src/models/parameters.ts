import type { DecoderConfig } from './config.js';

/** One tensor of a checkpoint. */
export interface ParameterSpec {
  /** Shape in the checkpoint. */
  shape: readonly number[];
  /** Kept as [in, out]; the decoder holds every projection as [out, in]. */
  transposed: boolean;
  role: 'embedding' | 'projection' | 'bias' | 'norm';
}

/** Where a family keeps the tensors of one layer, without the `.weight` or `.bias` at the end. */
export interface LayerNames {
  attentionNorm: string;
  /** One fused projection, or query, key and value. */
  qkv: [string] | [string, string, string];
  queryNorm: string;
  keyNorm: string;
  output: string;
  mlpNorm: string;
  gate?: string;
  up: string;
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
    queryNorm: '',
    keyNorm: '',
    output: `transformer.h.${i}.attn.c_proj`,
    mlpNorm: `transformer.h.${i}.ln_2`,
    up: `transformer.h.${i}.mlp.c_fc`,
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
    gate: `model.layers.${i}.mlp.gate_proj`,
    up: `model.layers.${i}.mlp.up_proj`,
    down: `model.layers.${i}.mlp.down_proj`,
  }),
  finalNorm: 'model.norm',
  head: 'lm_head',
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
    queryNorm: '',
    keyNorm: '',
    output: `model.transformer.blocks.${i}.attn_out`,
    mlpNorm: `model.transformer.blocks.${i}.ff_norm`,
    gate: `model.transformer.blocks.${i}.ff_proj`,
    up: `model.transformer.blocks.${i}.up_proj`,
    down: `model.transformer.blocks.${i}.ff_out`,
  }),
  finalNorm: 'model.transformer.ln_f',
  head: 'model.transformer.ff_out',
};

const familyNames: Record<DecoderConfig['family'], ModelNames> = {
  gpt2: gpt2Names,
  llama: rotaryNames,
  qwen2: rotaryNames,
  qwen3: rotaryNames,
  llada: lladaNames,
};

/** The names of the checkpoints of a configuration's family. */
export const namesOf = ({ family }: DecoderConfig): ModelNames => familyNames[family];

/** Every tensor of a checkpoint of this shape, by name, in the order in which the decoder uses them. */
export function parameterSpecs(config: DecoderConfig): Map<string, ParameterSpec> {
  const specs = new Map<string, ParameterSpec>();
  const names = namesOf(config);
  const { hiddenSize: D, intermediateSize: I, headDim, heads, kvHeads } = config;
  const { conv1d = false } = names;

  const norm = (name: string, size = D) => {
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
  const widths = [heads * headDim, kvHeads * headDim, kvHeads * headDim];
  for (let i = 0; i < config.layers; i++) {
    const layer = names.layer(i);
    norm(layer.attentionNorm);
    if (layer.qkv.length === 1)
      projection(layer.qkv[0], D, widths[0]! + widths[1]! + widths[2]!, config.qkvBias);
    else for (const [j, name] of layer.qkv.entries()) projection(name, D, widths[j]!, config.qkvBias);
    if (config.qkNorm !== 'none') {
      norm(layer.queryNorm, headDim);
      norm(layer.keyNorm, headDim);
    }
    projection(layer.output, heads * headDim, D, config.outputBias);
    norm(layer.mlpNorm);
    if (layer.gate) projection(layer.gate, D, I, config.mlpBias);
    projection(layer.up, D, I, config.mlpBias);
    projection(layer.down, I, D, config.mlpBias);
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
