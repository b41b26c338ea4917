import { cat, noGrad, type Tensor, tensor, tidy } from '@grpo/torch';
import { type Decoder, pack, type Segment } from '../models/index.js';

/** A prompt and completions of it that are scored together; the prompt is computed once. */
export interface ScoredGroup {
  prompt: readonly number[];
  completions: readonly (readonly number[])[];
}

/** log π and entropy of every completion token, completion after completion: `[T]` each, float32. */
export interface TokenScores {
  logprobs_T: Tensor;
  /** In nats; detached, unless their gradient was asked for. */
  entropies_T: Tensor;
  /** KL(policy ‖ reference) over the whole vocabulary, with gradient; where it was asked for. */
  fullKl_T?: Tensor;
}

/** What is computed beside the log-probs. */
export interface ScoringOptions {
  /** Entropies have a gradient: for a bonus in the loss. */
  entropyGradient?: boolean;
  /** The full KL to this decoder. */
  fullKlTo?: Decoder | undefined;
}

// Rows of logits held at once; with a vocabulary of 150,000 that is 300 MB in float32.
const CHUNK_ROWS = 512;

/**
 * Scores completions under softmax(logits / temperature): the logits after a token predict the next one, the prompt's
 * last logits the completion's first token. Only these rows are projected to the vocabulary.
 *
 * @param temperature - that of the sampling; 0 (greedy) scores at 1
 */
export function scoreTokens(
  decoder: Decoder,
  groups: readonly ScoredGroup[],
  temperature: number,
  { entropyGradient = false, fullKlTo }: ScoringOptions = {},
): TokenScores {
  const { device } = decoder;
  const segments: Segment[] = [];
  const targets: number[] = [];
  /** For each target, the segment and the place in it of the token whose logits predict it. */
  const predictors: { segment: number; place: number }[] = [];
  for (const { prompt, completions } of groups) {
    const parent = segments.length;
    const last = prompt.length - 1;
    // A lone completion shares its prompt with nobody: one segment, which packs better than two.
    const joined = completions.length === 1;
    segments.push({ ids: joined ? [...prompt, ...completions[0]!.slice(0, -1)] : prompt });
    for (const ids of completions) {
      // Nothing is predicted from a completion's last token: it need not be computed.
      if (!joined) segments.push({ ids: ids.slice(0, -1), parent });
      for (const [j, id] of ids.entries()) {
        targets.push(id);
        const own = segments.length - 1;
        predictors.push(
          j === 0
            ? { segment: parent, place: last }
            : { segment: own, place: j - 1 + (joined ? prompt.length : 0) },
        );
      }
    }
  }
  const packed = pack(segments, decoder.config, device);
  const rows = predictors.map(({ segment, place }) => packed.starts[segment]! + place);
  const predictors_T = tensor(rows, undefined, { dtype: 'int64', device });
  const hiddenOf = (model: Decoder) => model.hidden(packed, packed.attend).indexSelect(0, predictors_T);
  const hidden_TD = hiddenOf(decoder);
  const reference_TD = fullKlTo && noGrad(() => hiddenOf(fullKlTo));
  const targets_T = tensor(targets, undefined, { dtype: 'int64', device });
  const scale = temperature === 0 ? 1 : temperature;
  const chunks: TokenScores[] = [];
  for (let start = 0; start < targets.length; start += CHUNK_ROWS) {
    const rows = Math.min(CHUNK_ROWS, targets.length - start);
    const all_TV = distribution(decoder, hidden_TD.narrow(0, start, rows), scale);
    const reference_TV =
      reference_TD && noGrad(() => distribution(fullKlTo!, reference_TD.narrow(0, start, rows), scale));
    const own_TV = entropyGradient ? all_TV : all_TV.detach();
    chunks.push({
      logprobs_T: all_TV.gather(1, targets_T.narrow(0, start, rows).unsqueeze(1)).squeeze(1),
      entropies_T: scoped(entropyGradient, () => own_TV.exp().mul(own_TV).sumDim([-1]).neg()),
      ...(reference_TV && { fullKl_T: all_TV.exp().mul(all_TV.sub(reference_TV)).sumDim([-1]) }),
    });
  }
  return {
    logprobs_T: cat(chunks.map((c) => c.logprobs_T)),
    entropies_T: cat(chunks.map((c) => c.entropies_T)),
    ...(fullKlTo && { fullKl_T: cat(chunks.map((c) => c.fullKl_T!)) }),
  };
}

/** log softmax(logits / temperature): `[T, V]`. */
function distribution(decoder: Decoder, hidden_TD: Tensor, temperature: number): Tensor {
  const logits_TV = decoder.logits(hidden_TD);
  return (temperature === 1 ? logits_TV : logits_TV.div(temperature)).logSoftmax(-1);
}

/** What is between needs to outlive the scope only for a gradient. */
const scoped = (hasGradient: boolean, compute: () => Tensor): Tensor =>
  hasGradient ? compute() : tidy(compute);
