import { mark, noGrad } from '@grpo/torch';
import { UserError } from '../errors/user-error.js';
import type { TokenSets } from '../formats/token-sets.js';
import { type Attend, type Decoder, packSegments, type Segment } from '../models/index.js';
import type { MaskedCompletion } from './masked/mask-plan.js';
import { scoreMasked } from './masked/masked-logprob.js';
import { scoreHidden, type TokenRun, type TokenScores } from './vocabulary.js';

/** A prompt and completions of it that are scored together; the prompt is computed once. */
export interface ScoredGroup {
  prompt: readonly number[];
  completions: readonly (readonly number[])[];
  /**
   * For each completion the ids that its tokens could be drawn from: softmax is over these alone. Undefined where it is
   * over the vocabulary. A masked-diffusion model, whose log-probs are estimates, has none.
   */
  support?: readonly (TokenSets | undefined)[];
  /** For a masked-diffusion model: how each completion is hidden. */
  masked?: readonly MaskedCompletion[];
}

/** Scores to compute beside the log-probs. */
export interface ScoringOptions {
  /** Entropies have a gradient: for a bonus in the loss. */
  entropyGradient?: boolean;
  /** The full KL to this decoder. */
  fullKlTo?: Decoder | undefined;
  /**
   * Called at each layer, counted from 0; an error that it throws ends the scoring. Each layer is marked as well, for
   * `backward({ onMark })`.
   */
  onLayer?: ((layer: number) => void) | undefined;
}

/**
 * Scores completions under softmax(logits / temperature), over each token's support where it has one: the logits after a token predict the next one, the prompt's
 * last logits the completion's first token. Only these rows are projected to the vocabulary. Those of a masked-diffusion
 * model are estimates ({@link scoreMasked}).
 *
 * @param temperature - that of the sampling; 0 (greedy) scores at 1
 * @throws UserError for a token that is not in its support
 */
export function scoreTokens(
  decoder: Decoder,
  groups: readonly ScoredGroup[],
  temperature: number,
  { entropyGradient = false, fullKlTo, onLayer }: ScoringOptions = {},
): TokenScores {
  const scoringTemperature = temperature === 0 ? 1 : temperature;
  const watched =
    (attend: Attend): Attend =>
    (layer, q, k, v) => {
      onLayer?.(layer);
      if (onLayer) mark(q);
      return attend(layer, q, k, v);
    };
  if (decoder.config.diffusion) {
    if (fullKlTo) throw new TypeError('a masked-diffusion model has no full KL');
    const maskedGroups = groups.map(({ masked, ...group }) => {
      if (masked) return { ...group, masked };
      throw new TypeError('the completions of a masked-diffusion model have no mask plans');
    });
    return scoreMasked(decoder, maskedGroups, scoringTemperature, { entropyGradient, watched });
  }
  const support = groups.flatMap(runsOf);
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
        const child = segments.length - 1;
        predictors.push(
          j === 0
            ? { segment: parent, place: last }
            : { segment: child, place: j - 1 + (joined ? prompt.length : 0) },
        );
      }
    }
  }
  const { device, dtype } = decoder;
  const packed = packSegments(segments, decoder.config, device, dtype);
  const hidden_ND = decoder.hidden(packed, watched(packed.attend));
  const reference = fullKlTo && {
    decoder: fullKlTo,
    // A teacher has heads of its own.
    hidden_ND: noGrad(() => {
      const { attend } =
        fullKlTo.config === decoder.config ? packed : packSegments(segments, fullKlTo.config, device, dtype);
      return fullKlTo.hidden(packed, attend);
    }),
  };
  return scoreHidden({
    decoder,
    hidden_ND,
    rows: predictors.map(({ segment, place }) => packed.starts[segment]! + place),
    targets,
    temperature: scoringTemperature,
    entropyGradient,
    reference,
    support,
  });
}

/** What the tokens of a group's completions are scored over. */
function runsOf({ completions, support }: ScoredGroup, group: number): TokenRun[] {
  return completions.map((ids, i) => {
    const sets = support?.[i];
    if (!sets) return { tokens: ids.length, sets };
    const where = `of completion ${i} of prompt ${group}`;
    const hint =
      'the sets are of other samples than the completions; rollout.keepSupport=false trains without them';
    if (sets.length !== ids.length)
      throw new UserError(`there are ${sets.length} sets for the ${ids.length} tokens ${where}`, { hint });
    const missing = ids.findIndex((id, token) => !sets.has(token, id));
    if (missing < 0) return { tokens: ids.length, sets };
    const found = `token ${missing} ${where} has id ${ids[missing]}`;
    const size = sets.size(missing);
    throw new UserError(`${found}, which is not among the ${size} ids that it could be drawn from`, { hint });
  });
}
