import { type Tensor, tokenScores } from '@grpo/torch';
import { chunkRows } from '../memory/pass-bytes.js';
import type { Decoder } from '../models/index.js';

/** log π and entropy of every completion token, completion after completion: `[T]` each, float32. */
export interface TokenScores {
  logprobs_T: Tensor;
  /** In nats; without a gradient, unless it was asked for. */
  entropies_T: Tensor;
  /** KL(policy ‖ reference) over the whole vocabulary, with gradient; where it was asked for. */
  fullKl_T?: Tensor;
}

/** Tokens to score, with the hidden states that predict them. */
export interface HiddenTokens {
  decoder: Decoder;
  /** Hidden states that predict the T tokens: `[T, hiddenSize]`. */
  hidden_TD: Tensor;
  /** The tokens: int64 `[T]`. */
  targets_T: Tensor;
  /** Divides the logits. */
  temperature: number;
  /** The entropies have a gradient as well. */
  entropyGradient: boolean;
  /** The full KL to this decoder is wanted. */
  reference: { decoder: Decoder; hidden_TD: Tensor } | undefined;
}

/**
 * Scores of tokens by the hidden states before them. The engine computes the logits `[T, V]` a chunk of rows at a time,
 * and again for the backward pass; it keeps them where they are one chunk.
 */
export function scoreHidden({ decoder, hidden_TD, targets_T, ...options }: HiddenTokens): TokenScores {
  const { reference, temperature, entropyGradient } = options;
  const [logprobs_T, entropies_T, kl_T] = tokenScores(
    hidden_TD,
    decoder.head,
    targets_T,
    reference?.hidden_TD,
    reference && headOf(reference.decoder, decoder.config.vocabSize),
    {
      temperature,
      chunk: chunkRows(decoder.config.vocabSize),
      entropy_gradient: entropyGradient,
    },
  );
  return { logprobs_T, entropies_T, ...(reference && { fullKl_T: kl_T }) };
}

/** The vocabulary projection without rows that only this decoder has: tokens have none of them. */
const headOf = ({ head, config }: Decoder, rows: number): Tensor =>
  config.vocabSize > rows ? head.narrow(0, 0, rows) : head;
