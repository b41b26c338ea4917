import { describeJson } from '../../formats/json.js';
import { type DecoderConfig, equalLayers, type LayerAttention, llamaTraits } from '../config.js';
import type { ConfigFields } from '../config-fields.js';
import { activations } from './activations.js';
import { type RopeShape, rope } from './rope.js';
import { divided, evenHead, kvHeads, MAX_LAYERS } from './sizes.js';

/** How a family's keys differ from Llama's. */
export interface RotaryKeys {
  /** Keys of biases that the family reads. */
  biases?: readonly ('attention_bias' | 'mlp_bias')[];
  /** The key of the activation, and the value that it stands for where it is missing. */
  activation?: readonly [key: string, usual: string];
  /** Values that missing keys stand for. */
  headDim?: number;
  maxPositions?: number;
  normEps?: number;
  tied?: boolean;
  rope?: Partial<RopeShape>;
  /** Positions that a windowed layer sees, and which layers are such where `layer_types` is missing: all if left out. */
  window?: number | undefined;
  isWindowed?: (layer: number) => boolean;
}

/** A decoder with Llama's layers, read from Llama's keys: what other families change. */
export function rotary(
  fields: ConfigFields,
  family: DecoderConfig['family'],
  keys: RotaryKeys = {},
): DecoderConfig {
  const layers = fields.size('num_hidden_layers', undefined, MAX_LAYERS);
  const headDim = headDimOf(fields, keys.headDim);
  const same = equalLayers({ layers, headDim }, rope(fields, { dims: headDim, ...keys.rope }));
  const [activation, usual] = keys.activation ?? ['hidden_act', 'silu'];
  const partial = fields.value('partial_rotary_factor') ?? 1;
  if (keys.rope?.dims === undefined && partial !== 1)
    fields.fail(
      `partial_rotary_factor ${describeJson(partial)} is not supported in a model of type ${family}`,
    );
  const has = (key: 'attention_bias' | 'mlp_bias') =>
    (keys.biases?.includes(key) ?? false) && fields.flag(key, false);
  return {
    ...llamaTraits,
    family,
    vocabSize: fields.size('vocab_size'),
    hiddenSize: fields.size('hidden_size'),
    intermediateSize: fields.size('intermediate_size'),
    layers,
    heads: fields.size('num_attention_heads'),
    kvHeads: kvHeads(fields, 'num_attention_heads', 'num_key_value_heads'),
    headDim,
    maxPositions: fields.size('max_position_embeddings', keys.maxPositions ?? 2048),
    normEps: fields.fraction('rms_norm_eps', keys.normEps ?? 1e-6),
    activation: fields.choice(activation, activations, usual),
    ...same,
    attention: windowed(fields, same.attention, keys),
    qkvBias: has('attention_bias'),
    outputBias: has('attention_bias'),
    mlpBias: has('mlp_bias'),
    tied: fields.flag('tie_word_embeddings', keys.tied ?? false),
  };
}

/** @param usual - the size that a missing key stands for, where it is not the heads' share of the width */
export function headDimOf(fields: ConfigFields, usual?: number): number {
  const given = fields.value('head_dim') !== undefined || usual !== undefined;
  return evenHead(
    fields,
    given ? fields.size('head_dim', usual) : divided(fields, 'hidden_size', 'num_attention_heads'),
  );
}

const layerTypes = new Map([
  ['full_attention', false],
  ['sliding_attention', true],
]);

/** The layers, those with a window by `layer_types`, or as the family has them. */
function windowed(
  fields: ConfigFields,
  attention: readonly LayerAttention[],
  { window, isWindowed = () => true }: RotaryKeys,
): readonly LayerAttention[] {
  const named = fields.list(
    'layer_types',
    attention.length,
    (type) => layerTypes.get(String(type)),
    [...layerTypes.keys()].join(' or '),
  );
  if (window === undefined) {
    if (named?.includes(true))
      fields.fail('layer_types has a sliding_attention, but no window is set for it');
    return attention;
  }
  return attention.map((layer, i) => ((named?.[i] ?? isWindowed(i)) ? { ...layer, window } : layer));
}
