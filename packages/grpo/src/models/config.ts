/** How rotary frequencies are stretched beyond the length a model was trained on. */
export type RopeScaling =
  | { type: 'linear'; factor: number }
  | {
      type: 'llama3';
      factor: number;
      lowFreqFactor: number;
      highFreqFactor: number;
      /** Positions the model was first trained on. */
      originalPositions: number;
    }
  | {
      type: 'longrope';
      /** Each pair's frequency is divided by its own. */
      factors: readonly number[];
      /** Factor of the turned queries and keys. */
      attentionFactor: number;
    };

/** A rotary embedding. */
export interface RopeConfig {
  /** Base of the frequencies. */
  theta: number;
  /** Dimensions of a head that are turned, the first ones; the others pass as they are. */
  dims: number;
  scaling?: RopeScaling;
}

/** The traits of a layer's attention. */
export interface LayerAttention {
  /** A token attends to so many positions, the last of which is its own; to all up to its own where left out. */
  window?: number;
  /** Index into `DecoderConfig.ropes`; a layer without it knows no positions. */
  rope?: number;
}

/** What makes a decoder predict masked places from both sides, in place of the next token. */
export interface DiffusionShape {
  /** The token that stands at a hidden place. */
  maskId: number;
  /** The logits of a place predict the token after it, as in Dream; else the token at it. */
  shifted: boolean;
  /** Places that are filled before the next block begins, where the folder names them. */
  blockLength?: number;
  /** Denoising steps of a completion, where the folder names them. */
  steps?: number;
}

/** The shape of a decoder: all differences between the families that are supported. */
export interface DecoderConfig {
  /**
   * Whose names the tensors have; no other code than the tables of names asks for it. Dream has Qwen 2's layers and names;
   * A2D models have those of the model that they were made from.
   */
  family:
    | 'gpt2'
    | 'llama'
    | 'mistral'
    | 'qwen2'
    | 'qwen3'
    | 'llada'
    | 'smollm3'
    | 'olmo2'
    | 'granite'
    | 'phi3'
    | 'gemma2'
    | 'gemma3';
  vocabSize: number;
  hiddenSize: number;
  /** Width inside the feed-forward block. */
  intermediateSize: number;
  layers: number;
  heads: number;
  /** Key and value heads; each serves heads / kvHeads query heads. */
  kvHeads: number;
  headDim: number;
  /** Longest sequence that the model was made for, in tokens. */
  maxPositions: number;
  norm: 'layer' | 'rms';
  normEps: number;
  /** Added to the weight of an RMS norm: 1 in Gemma, whose weights are kept as the distance from 1. */
  normOffset: 0 | 1;
  /** Norms stand before each block; after it, before the residual is added (OLMo 2); or in both places (Gemma). */
  normPlacement: 'before' | 'after' | 'both';
  /** RMS norm of queries and keys: of each head, or of all heads of a token as one (OLMo 2). */
  qkNorm: 'none' | 'head' | 'whole';
  activation: 'gelu' | 'gelu_tanh' | 'silu';
  /** The feed-forward block multiplies the activation by a second projection. */
  gated: boolean;
  /** Rotary embeddings; empty with learned positions. */
  ropes: readonly RopeConfig[];
  /** One per layer. */
  attention: readonly LayerAttention[];
  /** Factor of the products of queries and keys. */
  attentionScale: number;
  /** Attention scores x become c·tanh(x / c). */
  attentionSoftcap?: number;
  /** Logits x become c·tanh(x / c), after their division. */
  logitSoftcap?: number;
  /** Factor of the token embeddings, rounded to the dtype of the weights as in Gemma. */
  embeddingScale: number;
  /** Factor of what each block adds to the residual stream. */
  residualScale: number;
  /** Logits are divided by it. */
  logitDivisor: number;
  /** Biases of the query, key and value projections. */
  qkvBias: boolean;
  /** Bias of the attention's output projection. */
  outputBias: boolean;
  mlpBias: boolean;
  /** The vocabulary projection is the token embedding. */
  tied: boolean;
  /** Of a masked-diffusion model; a causal one has none. */
  diffusion?: DiffusionShape;
}

/** Traits of Llama, which most families share. */
export const llamaTraits = {
  norm: 'rms',
  normOffset: 0,
  normPlacement: 'before',
  qkNorm: 'none',
  activation: 'silu',
  gated: true,
  embeddingScale: 1,
  residualScale: 1,
  logitDivisor: 1,
  qkvBias: false,
  outputBias: false,
  mlpBias: false,
} as const satisfies Partial<DecoderConfig>;

/**
 * The attention of a decoder whose layers are all alike: each sees every earlier position.
 *
 * @param rope - turns whole heads unless it names dimensions; none with learned positions
 */
export function equalLayers(
  { layers, headDim }: Pick<DecoderConfig, 'layers' | 'headDim'>,
  rope?: Omit<RopeConfig, 'dims'> & Partial<RopeConfig>,
): Pick<DecoderConfig, 'ropes' | 'attention' | 'attentionScale'> {
  return {
    ropes: rope ? [{ dims: headDim, ...rope }] : [],
    attention: Array.from({ length: layers }, () => (rope ? { rope: 0 } : {})),
    attentionScale: headDim ** -0.5,
  };
}
