import { cat, type Tensor, tensor, tidy } from '@grpo/torch';
import { type Decoder, pack, type Segment } from '../models/index.js';

/** A prompt and completions of it that are scored together; the prompt is computed once. */
export interface ScoredGroup {
  prompt: readonly number[];
  completions: readonly (readonly number[])[];
}

/** log π and entropy of every completion token, completion after completion: `[T]` each, float32. */
export interface TokenScores {
  logprobs_T: Tensor;
  /** In nats, detached. */
  entropies_T: Tensor;
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
  const hidden_ND = decoder.hidden(packed, packed.attend);
  const hidden_TD = hidden_ND.indexSelect(0, tensor(rows, undefined, { dtype: 'int64', device }));
  const targets_T = tensor(targets, undefined, { dtype: 'int64', device });
  const chunks: TokenScores[] = [];
  for (let start = 0; start < targets.length; start += CHUNK_ROWS) {
    const rows = Math.min(CHUNK_ROWS, targets.length - start);
    const logits = decoder.logits(hidden_TD.narrow(0, start, rows));
    chunks.push(
      scoreRows(
        temperature === 0 || temperature === 1 ? logits : logits.div(temperature),
        targets_T.narrow(0, start, rows),
      ),
    );
  }
  return {
    logprobs_T: cat(chunks.map((c) => c.logprobs_T)),
    entropies_T: cat(chunks.map((c) => c.entropies_T)),
  };
}

function scoreRows(logits_TV: Tensor, targets_T: Tensor): TokenScores {
  const all_TV = logits_TV.logSoftmax(-1);
  return {
    logprobs_T: all_TV.gather(1, targets_T.unsqueeze(1)).squeeze(1),
    entropies_T: tidy(() => {
      const frozen = all_TV.detach();
      return frozen.exp().mul(frozen).sumDim([-1]).neg();
    }),
  };
}
