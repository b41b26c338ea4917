import type { GgufValue } from '../formats/gguf-writer.js';
import type { DecoderConfig } from '../models/index.js';
import { type Architecture, windowPeriod } from './architectures.js';

/** The metadata of a decoder's shape, named as llama.cpp reads them. */
export function shapeMetadata(config: DecoderConfig, architecture: Architecture): Map<string, GgufValue> {
  const { attention, ropes } = config;
  const windows = attention.flatMap(({ window }) => window ?? []);
  const everyLayerHasWindow = windows.length === attention.length;
  const rope = ropes[attention.find(({ window }) => everyLayerHasWindow || !window)?.rope ?? 0];
  const windowRope = ropes[attention.find(({ window }) => window)?.rope ?? 0];
  const norm = config.norm === 'rms' ? 'layer_norm_rms_epsilon' : 'layer_norm_epsilon';
  const keys: Record<string, GgufValue | undefined> = {
    vocab_size: ['uint32', config.vocabSize],
    context_length: ['uint32', contextLength(config, architecture)],
    embedding_length: ['uint32', config.hiddenSize],
    block_count: ['uint32', config.layers],
    feed_forward_length: ['uint32', config.intermediateSize],
    'attention.head_count': ['uint32', config.heads],
    'attention.head_count_kv': ['uint32', config.kvHeads],
    'attention.key_length': ['uint32', config.headDim],
    'attention.value_length': ['uint32', config.headDim],
    [`attention.${norm}`]: ['float32', config.normEps],
    'rope.dimension_count': rope && ['uint32', rope.dims],
    'rope.freq_base': rope && ['float32', rope.theta],
    ...(architecture.windowPeriod && {
      'attention.sliding_window': ['uint32', windows[0]!],
      'attention.sliding_window_pattern': everyLayerHasWindow ? undefined : ['uint32', windowPeriod(config)!],
      'rope.freq_base_swa': windowRope && ['float32', windowRope.theta],
    }),
    ...scalingKeys(rope, config),
    ...(architecture.softcaps && {
      attn_logit_softcapping: ['float32', config.attentionSoftcap!],
      final_logit_softcapping: ['float32', config.logitSoftcap!],
    }),
    ...(architecture.scales && {
      'attention.scale': ['float32', config.attentionScale],
      embedding_scale: ['float32', config.embeddingScale],
      residual_scale: ['float32', config.residualScale],
      logit_scale: ['float32', config.logitDivisor],
    }),
  };
  return new Map(
    Object.entries(keys).flatMap(([key, value]) => (value ? [[`${architecture.name}.${key}`, value]] : [])),
  );
}

/** Positions that a sequence may have: where llama.cpp has no windows, no more than make them unnecessary. */
export function contextLength(config: DecoderConfig, { windowPeriod }: Architecture): number {
  const windows = windowPeriod ? [] : config.attention.flatMap(({ window }) => window ?? []);
  return Math.min(config.maxPositions, ...windows);
}

/** How rotary frequencies are scaled. The divisors of Llama 3's and of LongRoPE are tensors. */
function scalingKeys(
  rope: DecoderConfig['ropes'][number] | undefined,
  { maxPositions }: DecoderConfig,
): Record<string, GgufValue> {
  const scaling = rope?.scaling;
  if (scaling?.type === 'linear')
    return { 'rope.scaling.type': ['string', 'linear'], 'rope.scaling.factor': ['float32', scaling.factor] };
  if (scaling?.type === 'longrope') {
    return {
      'rope.scaling.original_context_length': ['uint32', maxPositions],
      'rope.scaling.attn_factor': ['float32', scaling.attentionFactor],
    };
  }
  return {};
}
