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
    };

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

/** The shape of a decoder: all differences between GPT-2, Llama 3, Qwen 2, Qwen 3 and LLaDA. */
export interface DecoderConfig {
  /** Dream has Qwen 2's layers and names; A2D models have those of the model that they were made from. */
  family: 'gpt2' | 'llama' | 'qwen2' | 'qwen3' | 'llada';
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
  normEps: number;
  activation: 'gelu' | 'gelu_tanh' | 'silu';
  /** Base of the rotary frequencies; absent with learned positions. */
  ropeTheta?: number;
  ropeScaling?: RopeScaling;
  /** Biases of the query, key and value projections. */
  qkvBias: boolean;
  /** Bias of the attention's output projection. */
  outputBias: boolean;
  mlpBias: boolean;
  /** RMS norm of each head's queries and keys. */
  qkNorm: boolean;
  /** The vocabulary projection is the token embedding. */
  tied: boolean;
  /** Of a masked-diffusion model; a causal one has none. */
  diffusion?: DiffusionShape;
}
