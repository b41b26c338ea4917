import { cat, linear, noGrad, type Tensor, tidy, zeros } from '@grpo/torch';
import type { Decoder } from '../models/index.js';

/** log π and entropy of every completion token, completion after completion: `[T]` each, float32. */
export interface TokenScores {
  logprobs_T: Tensor;
  /** In nats; without a gradient, unless it was asked for. */
  entropies_T: Tensor;
  /** KL(policy ‖ reference) over the whole vocabulary; where it was asked for. */
  fullKl_T?: Tensor;
  /**
   * Takes the gradients that a loss left at these tensors on to the decoder's parameters: to be called once after the
   * loss's own backward pass. Not there where the tensors belong to the decoder's graph themselves.
   */
  backward?(): void;
}

/** What the scores are computed from. */
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

/** Rows of logits held at once; with a vocabulary of 150,000 that is 300 MB in float32. */
const CHUNK_ROWS = 512;

/**
 * Scores of tokens by the hidden states before them. The logits `[T, V]` never exist: they are computed in chunks, and
 * in chunks again for the backward pass, which begins at the scores as leaves and ends at the hidden states.
 */
export function scoreHidden(tokens: HiddenTokens): TokenScores {
  const { hidden_TD, entropyGradient } = tokens;
  const { normalizers_T, ...scores } = noGrad(() => forward(tokens));
  if (!hidden_TD.requiresGrad) return scores;
  scores.logprobs_T.requiresGrad = true;
  scores.entropies_T.requiresGrad = entropyGradient;
  if (scores.fullKl_T) scores.fullKl_T.requiresGrad = true;
  return { ...scores, backward: () => noGrad(() => backward(tokens, scores, normalizers_T)) };
}

type Forward = Pick<TokenScores, 'logprobs_T' | 'entropies_T' | 'fullKl_T'> & {
  /** log Σ exp of the logits: `[T]`. */
  normalizers_T: Tensor;
};

function forward(tokens: HiddenTokens): Forward {
  const { targets_T, reference } = tokens;
  const chunks = chunksOf(targets_T.size(0)).map((chunk) =>
    tidy(() => {
      const logits_CV = logitsOf(tokens, chunk);
      const normalizers_C = logits_CV.logsumexp([-1], true);
      const chosen_C = logits_CV.gather(1, rowsOf(targets_T, chunk).unsqueeze(1));
      const all_CV = logits_CV.sub_(normalizers_C);
      const p_CV = all_CV.exp();
      const other_CV = reference && referenceOf(tokens, chunk);
      return {
        normalizers_T: normalizers_C.squeeze(1),
        logprobs_T: chosen_C.sub(normalizers_C).squeeze(1),
        ...(other_CV && { fullKl_T: p_CV.mul(all_CV.sub(other_CV)).sumDim([-1]) }),
        // Last, in the memory of the log-probs.
        entropies_T: all_CV.mul_(p_CV).sumDim([-1]).neg(),
      };
    }),
  );
  const joined = (of: (chunk: Forward) => Tensor) => cat(chunks.map(of));
  return {
    normalizers_T: joined((c) => c.normalizers_T),
    logprobs_T: joined((c) => c.logprobs_T),
    entropies_T: joined((c) => c.entropies_T),
    ...(reference && { fullKl_T: joined((c) => c.fullKl_T!) }),
  };
}

function backward(tokens: HiddenTokens, scores: TokenScores, normalizers_T: Tensor): void {
  tidy(() => {
    const { decoder, hidden_TD, targets_T } = tokens;
    const { head } = decoder;
    // Transposed: of the two, this product copies less. A frozen head needs none.
    const headGradient_DV = head.requiresGrad
      ? zeros([...head.shape].reverse(), { dtype: 'float32', device: head.device })
      : undefined;
    const parts = chunksOf(targets_T.size(0)).map((chunk) =>
      tidy(() => {
        const gradient_CV = logitGradient(tokens, scores, normalizers_T, chunk).to(head.dtype);
        headGradient_DV?.add_(linear(rowsOf(hidden_TD.detach(), chunk).t(), gradient_CV.t()));
        return linear(gradient_CV, head.t());
      }),
    );
    hidden_TD.backward(cat(parts));
    // A tied head has the embedding's gradient already.
    if (headGradient_DV)
      head.grad = headGradient_DV
        .t()
        .contiguous()
        .add_(head.grad ?? 0)
        .to(head.dtype);
  });
}

/**
 * From the gradients g, h and k of log-prob, entropy and full KL to those of a chunk of logits z, with
 * p = softmax(z / t): [g at the token − p g − h p (log p + H) + k p (log p − log q − KL)] / t.
 */
function logitGradient(
  tokens: HiddenTokens,
  { logprobs_T, entropies_T, fullKl_T }: TokenScores,
  normalizers_T: Tensor,
  chunk: Chunk,
): Tensor {
  const { targets_T, temperature } = tokens;
  const column = (values_T: Tensor) => rowsOf(values_T, chunk).unsqueeze(1);
  const given = (values_T: Tensor | undefined) => (values_T?.grad ? column(values_T.grad) : undefined);
  const [g_C, h_C, k_C] = [given(logprobs_T), given(entropies_T), given(fullKl_T)];
  const all_CV = logitsOf(tokens, chunk).sub_(column(normalizers_T));
  const factors = [
    g_C?.neg(),
    h_C && all_CV.add(column(entropies_T)).mul_(h_C).neg(),
    k_C && all_CV.sub(referenceOf(tokens, chunk)).sub_(column(fullKl_T!)).mul_(k_C),
  ].filter((factor) => factor !== undefined);
  const gradient_CV = all_CV.exp();
  if (factors.length === 0) return gradient_CV.zero_();
  gradient_CV.mul_(factors.reduce((sum, factor) => sum.add(factor)));
  if (g_C) gradient_CV.scatterAdd_(1, column(targets_T), g_C);
  return temperature === 1 ? gradient_CV : gradient_CV.div_(temperature);
}

interface Chunk {
  start: number;
  rows: number;
}

function chunksOf(tokens: number): Chunk[] {
  const chunks: Chunk[] = [];
  for (let start = 0; start < tokens; start += CHUNK_ROWS)
    chunks.push({ start, rows: Math.min(CHUNK_ROWS, tokens - start) });
  return chunks;
}

const rowsOf = (values_T: Tensor, { start, rows }: Chunk): Tensor => values_T.narrow(0, start, rows);

/** Logits over the temperature, in float32 and in memory of their own. */
function logitsOf(
  { decoder, hidden_TD, temperature }: Pick<HiddenTokens, 'decoder' | 'hidden_TD' | 'temperature'>,
  chunk: Chunk,
): Tensor {
  const logits_CV = decoder.logits(rowsOf(hidden_TD, chunk));
  return temperature === 1 ? logits_CV : logits_CV.div_(temperature);
}

/** log q of the reference over the vocabulary. */
function referenceOf({ reference, temperature }: HiddenTokens, chunk: Chunk): Tensor {
  const logits_CV = logitsOf({ ...reference!, temperature }, chunk);
  // As the policy's, so that equal weights give a KL of exactly 0.
  return logits_CV.sub_(logits_CV.logsumexp([-1], true));
}
