import type { Tensor } from '@grpo/torch';
import { lossSlopes } from '../../doctor/recompute/loss-slopes.js';
import type { LossRow, Slopes } from '../../doctor/recompute/policy-slopes.js';
import { sum } from '../../maths/moments.js';
import type { AuditContext, Measured } from '../context.js';
import { samplerLogprobs } from '../places.js';
import { countPasses } from '../plain/plain-pass.js';
import { holdGradients } from './hold-gradients.js';
import type { PlainCompletion, PlainStep } from './plain-step.js';
import { toleranceOf } from './tolerance.js';
import type { TrainerPass } from './trainer-pass.js';

/** Loss → gradient: of every trained tensor, by its name. */
export function compareGradients(
  context: AuditContext,
  { declared, model, completions }: PlainStep,
  { sizes }: TrainerPass,
  gradients: ReadonlyMap<string, Tensor>,
): Measured {
  const { trainer, tell } = context;
  const handOver = 'gradient';
  const rows = completions.map((one) => rowOf(context, one));
  const { all } = toleranceOf(trainer.model.decoder.dtype);
  const slopesOf = (of: readonly LossRow[]) =>
    lossSlopes(declared, of, {
      sizes,
      trained: context.batch.masks_B.map((mask) => sum(mask)),
      entropyCoefficient: trainer.control.entropyCoefficient,
    });
  const slopes = slopesOf(rows);
  if (typeof slopes === 'string') return { handOver, missing: slopes };
  const moved = slopesOf(rows.map((row) => ({ ...row, policy: row.policy.map((logprob) => logprob + all) })));
  // A KL to a reference that is the policy has slopes, or signs of slopes, of rounding alone.
  const logprobs = completions.map(({ scores }) => scores.logprobs);
  const unsure = typeof moved === 'string' ? Number.NaN : shareMoved(slopes, moved, logprobs);
  if (!(unsure < SURE)) return { handOver, missing: 'a loss of which the slope is above its rounding' };
  return {
    comparisons: holdGradients(model, completions, slopes, gradients, {
      temperature: trainer.config.rollout.temperature,
      tolerance: toleranceOf(trainer.model.decoder.dtype),
      slack: SLACK * unsure,
      trained: { decoder: trainer.model.decoder, forward: 'old log-probs' },
      tell,
    }),
  };
}

/** Share of the slopes up to which rounding of the log-probs may change them. */
const SURE = 0.1;

/** What a change of the slopes may do to one tensor's gradient, beside its share of them. */
const SLACK = 4;

/** The least leverage of a token: what is left of one that is certain is rounding. */
const LEAST = 1e-6;

/** How far a token's slope moves the gradient: the logits of one that is certain cannot move its log-prob. */
const leverageOf = (logprobs: Float32Array): Float64Array =>
  Float64Array.from(logprobs, (logprob) => Math.max(LEAST, -Math.expm1(Math.min(0, logprob))));

/** √Σ of the tokens' leverage × slope, squared: about the size of a gradient. */
const sizeOf = (slopes: readonly Float64Array[], leverage: readonly Float64Array[]) =>
  Math.hypot(...slopes.flatMap((own, i) => Array.from(own, (slope, t) => slope * leverage[i]![t]!)));

const minus = (some: readonly Float64Array[], others: readonly Float64Array[]) =>
  some.map((own, i) => own.map((x, t) => x - others[i]![t]!));

/** By what share of itself a gradient moves with its slopes, about: by the leverage of its tokens, which log-probs tell. */
export function shareMoved(
  slopes: readonly Slopes[],
  moved: readonly Slopes[],
  logprobs: readonly Float32Array[],
): number {
  const [own, others] = [slopes, moved].map((of) => of.map((one) => one.logprobs)) as [
    Float64Array[],
    Float64Array[],
  ];
  const leverage = logprobs.map(leverageOf);
  return sizeOf(minus(own, others), leverage) / sizeOf(own, leverage);
}

/** What the loss takes of a completion: log-probs by the plain path, the rest as the stages before handed it over. */
function rowOf(
  { trainer, batch }: AuditContext,
  { place, completion, masked, passes, scores }: PlainCompletion,
): LossRow {
  const { config } = trainer;
  const isLeftOut = config.objective.maskTruncated && batch.completions_B[place]!.finishReason === 'length';
  return {
    policy: scores.logprobs,
    entropies: scores.entropies,
    old: batch.old_B?.[place],
    reference: batch.reference_B?.[place],
    sampler: masked ? undefined : samplerLogprobs(batch.completions_B[place]!),
    // A token has no log-prob if no pass hides it.
    mask: Uint8Array.from(countPasses(passes, completion.length), (count) =>
      isLeftOut || count === 0 ? 0 : 1,
    ),
    advantage: batch.advantages.advantages[place]!,
    beta: config.kl.place === 'loss' ? batch.betas_P[batch.problemOf(place)]! : 0,
  };
}
