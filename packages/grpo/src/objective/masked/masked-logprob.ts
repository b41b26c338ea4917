import { type Tensor, tensor, zeros } from '@grpo/torch';
import { type Attend, type Decoder, packSegments, type Segment } from '../../models/index.js';
import { scoreHidden, type TokenScores } from '../vocabulary.js';
import type { MaskedCompletion, MaskedView } from './mask-plan.js';

/** A prompt and completions of it, each with the places that are hidden to score it. */
export interface MaskedGroup {
  prompt: readonly number[];
  completions: readonly (readonly number[])[];
  masked: readonly MaskedCompletion[];
}

/** A token that a pass hides: where it stands among the T tokens, and which row of which segment predicts it. */
interface HiddenPlace {
  token: number;
  segment: number;
  row: number;
  id: number;
  weight: number;
}

/**
 * Estimates the log-probs of completions of a masked-diffusion model: that of a token is Σ weight · log π(token | view)
 * over the views of its plan that hide it, and 0 where none does. Its entropy is the mean over these views. Views with
 * equal inputs are computed once.
 *
 * @param temperature - divides the logits, above 0
 * @param watched - the attention of the packed tokens, as it is to be called
 * @throws Error where no view hides a token of a completion
 */
export function scoreMasked(
  decoder: Decoder,
  groups: readonly MaskedGroup[],
  temperature: number,
  { entropyGradient, watched }: { entropyGradient: boolean; watched: (attend: Attend) => Attend },
): TokenScores {
  const { device, config } = decoder;
  const { maskId, shifted } = config.diffusion!;
  const segments: Segment[] = [];
  const segmentOf = new Map<string, number>();
  const hidden: HiddenPlace[] = [];
  let tokens = 0;
  for (const { prompt, completions, masked } of groups) {
    for (const [i, ids] of completions.entries()) {
      const { region, plan } = masked[i]!;
      for (const view of plan) {
        const input = inputOf(prompt, region, view, maskId);
        const key = input.join();
        if (!segmentOf.has(key)) segmentOf.set(key, segments.push({ ids: input }) - 1);
        const segment = segmentOf.get(key)!;
        for (const [j, id] of ids.entries()) {
          if (!view.region[j]) continue;
          const row = prompt.length + j - (shifted ? 1 : 0);
          hidden.push({ token: tokens + j, segment, row, id, weight: view.weight });
        }
      }
      tokens += ids.length;
    }
  }
  if (hidden.length === 0) throw new Error('the mask plans hide no token of any completion');
  const packed = packSegments(segments, config, device, decoder.dtype);
  const int64 = (values: number[]) => tensor(values, undefined, { dtype: 'int64', device });
  const scores = scoreHidden({
    decoder,
    hidden_ND: decoder.hidden(packed, watched(packed.attend)),
    rows: hidden.map(({ segment, row }) => packed.starts[segment]! + row),
    targets: hidden.map(({ id }) => id),
    temperature,
    entropyGradient,
    reference: undefined,
  });
  const tokens_H = int64(hidden.map(({ token }) => token));
  const views_T = new Float32Array(tokens);
  for (const { token } of hidden) views_T[token]!++;
  const collect = (values_H: Tensor, factors: number[]) =>
    zeros([tokens], { dtype: values_H.dtype, device }).scatterAdd_(
      0,
      tokens_H,
      values_H.mul(tensor(factors, undefined, { dtype: values_H.dtype, device })),
    );
  return {
    logprobs_T: collect(
      scores.logprobs_T,
      hidden.map(({ weight }) => weight),
    ),
    entropies_T: collect(
      scores.entropies_T,
      hidden.map(({ token }) => 1 / views_T[token]!),
    ),
  };
}

/** What the model sees in a pass: the tokens of prompt and region, the mask's id in place of the hidden ones. */
export function inputOf(
  prompt: readonly number[],
  region: MaskedCompletion['region'],
  view: MaskedView,
  maskId: number,
): number[] {
  return [
    ...prompt.map((id, i) => (view.prompt[i] ? maskId : id)),
    ...region.map((id, i) => (view.region[i] ? maskId : id)),
  ];
}
