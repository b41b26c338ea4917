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
    model = plain.model,
    scores = completions.map((one) => one.scores),
  ) => {
    const sequences = completions.map((one, i) => ({ ...one, scores: scores[i]! }));
    const moved = scoresMovedByRounding(model, sequences, {
      temperature: config.rollout.temperature,
      tell: context.tell,
    });
    const rows = completions.map(({ place, passes }, i) => ({
      completion: place,
      found: foundOf(place),
      plain: scores[i]!.logprobs,
      weight: Math.max(1, sum(passes.map(({ weight }) => weight))),
      moved: () => moved()[i]!.logprobs,
    }));
    return compareRows(handOver, quantity, rows, tolerance);
  };
  const frozen = reference && reference_B && rawModel(trainer.teacher ?? model, reference, config);
  return {
    comparisons: [
      ...compare('log-prob of the policy', plain.completions, (b) => pass.logprobs.get(b)),
      ...(old_B ? compare('old log-prob', own, (b) => old_B[b]) : []),
      ...(frozen
        ? compare(
            'log-prob of the reference',
            plain.completions,
            (b) => reference_B[b],
            frozen,
            scoreSequences(frozen, plain.completions, config.rollout.temperature, context.tell),
          )
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
