import { sum } from '../../maths/moments.js';
import type { Comparison } from '../../trace/index.js';
import type { AuditContext, Measured } from '../context.js';
import { scoreSequences } from '../plain/plain-logprobs.js';
import { worstOf } from '../worst.js';
import { compareRows } from './compare-rows.js';
import type { PlainCompletion, PlainStep } from './plain-step.js';
import { rawModel } from './raw-model.js';
import { scoresMovedByRounding } from './rounding.js';
import { toleranceOf } from './tolerance.js';
import type { TrainerPass } from './trainer-pass.js';

/**
 * Weights → log-probs: those of the policy that trains, the old ones, the reference's, and the ratio of the first update,
 * which the weights that sampled still make.
 */
export function compareLogProbs(context: AuditContext, plain: PlainStep, pass: TrainerPass): Measured {
  const { trainer, batch } = context;
  const { ownStages, config, reference, model } = trainer;
  const handOver = 'old log-probs';
  if (ownStages?.includes('logprob'))
    return { handOver, missing: 'the standard stage logprob: yours scores as it likes' };
  const tolerance = toleranceOf(model.decoder.dtype);
  const own = plain.completions.filter(({ isOwn }) => isOwn);
  const { old_B, reference_B } = batch;
  const compare = (
    quantity: string,
    completions: readonly PlainCompletion[],
    foundOf: (place: number) => Float32Array | undefined,
  ) => {
    const rows = completions.map(({ place, passes, scores, moved }) => ({
      completion: place,
      found: foundOf(place),
      plain: scores.logprobs,
      weight: Math.max(1, sum(passes.map(({ weight }) => weight))),
      moved: () => moved().logprobs,
    }));
    return compareRows(handOver, quantity, rows, tolerance);
  };
  return {
    comparisons: [
      ...compare('log-prob of the policy', plain.completions, (b) => pass.logprobs.get(b)),
      ...(old_B ? compare('old log-prob', own, (b) => old_B[b]) : []),
      ...(reference && reference_B
        ? compare('log-prob of the reference', referenceScores(context, plain), (b) => reference_B[b])
        : []),
      ...compareRatios(
        own,
        pass,
        config.objective.oldLogprobs === 'detach' ? EXACT : Math.expm1(tolerance.token),
      ),
    ],
  };
}

/** A ratio to oneself is 1 but for one rounding. */
const EXACT = 1e-6;

/** The weights are still those that sampled: every ratio is 1, as far as the old log-probs are those of the trainer. */
function compareRatios(
  completions: readonly PlainCompletion[],
  { ratios }: TrainerPass,
  bound: number,
): Comparison[] {
  const pairs = completions.flatMap(({ place }) =>
    Array.from(ratios.get(place) ?? [], (found, token) => ({
      found,
      plain: 1,
      bound,
      completion: place,
      token,
    })),
  );
  return worstOf('loss', 'ratio of the first update', pairs);
}

/** The same completions with the scores of the frozen reference, from its own weights. */
function referenceScores(
  { trainer: { model, reference, teacher, config }, tell }: AuditContext,
  { completions }: PlainStep,
): PlainCompletion[] {
  const { temperature } = config.rollout;
  const frozen = rawModel(teacher ?? model, reference!, config);
  const scores = scoreSequences(frozen, completions, temperature, tell);
  const scored = completions.map((one, i) => ({ ...one, scores: scores[i]! }));
  const moved = scoresMovedByRounding(frozen, scored, { temperature, tell });
  return scored.map((one, i) => ({ ...one, moved: () => moved()[i]! }));
}
