/** Scoring as a first draft does it: a pass over prompt and completion, every row projected. Faults live in its details. */
import { cat, type Tensor, tensor, tidy } from '@grpo/torch';
import { type Decoder, packSegments } from '../models/index.js';
import type { ScoredGroup, TokenScores } from '../objective/index.js';

/** What a fault does otherwise. */
export interface ScoringDetails {
  /** Tokens before the prompt of a group. */
  prefix?(group: ScoredGroup, all: readonly ScoredGroup[]): readonly number[];
  /** Row of the logits that scores token t of a completion; the one before it when left out. */
  row?(t: number, promptLength: number, length: number): number;
  /** Changes the hidden states `[L, D]` before they are projected. */
  hidden?(hidden_LD: Tensor): Tensor;
  temperature?: number;
}

/** Log-probs and entropies of every completion token, completion after completion. */
export function plainScores(
  decoder: Decoder,
  groups: readonly ScoredGroup[],
  temperature: number,
  details: ScoringDetails = {},
): TokenScores {
  const { prefix = () => [], row = (t, promptLength) => promptLength - 1 + t, hidden = (x) => x } = details;
  const scores = groups.flatMap((group) =>
    group.completions.map((completion) => {
      const before = prefix(group, groups);
      const ids = [...before, ...group.prompt, ...completion];
      const packed = packSegments([{ ids }], decoder.config, decoder.device);
      const logits_LV = decoder.logits(hidden(decoder.hidden(packed, packed.attend)));
      const rows = completion.map((_, t) => before.length + row(t, group.prompt.length, completion.length));
      return scoreRows(logits_LV, rows, completion, details.temperature ?? temperature);
    }),
  );
  return {
    logprobs_T: cat(scores.map(({ logprobs_T }) => logprobs_T)),
    entropies_T: cat(scores.map(({ entropies_T }) => entropies_T)),
  };
}

/** The scores of tokens, each by its row of logits. */
export function scoreRows(
  logits_LV: Tensor,
  rows: readonly number[],
  ids: readonly number[],
  temperature: number,
): TokenScores {
  const index = (values: readonly number[]) =>
    tensor(values, undefined, { dtype: 'int64', device: logits_LV.device });
  const all_TV = logits_LV.indexSelect(0, index(rows)).div(temperature).logSoftmax(-1);
  return {
    logprobs_T: all_TV.gather(1, index(ids).unsqueeze(1)).squeeze(1),
    entropies_T: tidy(() => {
      const frozen = all_TV.detach();
      return frozen.exp().mul(frozen).sumDim([-1]).neg();
    }),
  };
}
