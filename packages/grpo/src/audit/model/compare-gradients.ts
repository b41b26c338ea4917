import { noGrad, type Tensor, tidy } from '@grpo/torch';
import { lossSlopes } from '../../doctor/recompute/loss-slopes.js';
import type { LossRow, Slopes } from '../../doctor/recompute/policy-slopes.js';
import { sum } from '../../maths/moments.js';
import type { AuditContext, Measured } from '../context.js';
import { samplerLogprobs } from '../places.js';
import { eachGradient } from '../plain/plain-gradient.js';
import { countPasses, passSlopes } from '../plain/plain-pass.js';
import { type Pair, worstOf } from '../worst.js';
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
  const { gradient, norm, floor, all } = toleranceOf(trainer.model.decoder.dtype);
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
  const unsure = typeof moved === 'string' ? Number.NaN : changeOf(slopes, moved) / sizeOf(slopes);
  if (!(unsure < SURE)) return { handOver, missing: 'a loss of which the slope is above its rounding' };
  const sloped = completions.flatMap(({ passes, states, scores }, i) => {
    const own = passSlopes(passes, slopes[i]!);
    return passes.map((pass, k) => ({
      ...pass,
      states: states[k]!,
      scores: scores.passes[k]!,
      slopes: own[k]!,
    }));
  });
  const measured = new Map<string, Norms>();
  const take = (name: string, plain: Tensor, start: number) => {
    const norms = normsOf(rowsOf(gradients.get(name), plain, start), plain);
    measured.set(name, joined(measured.get(name), norms));
  };
  eachGradient(model, sloped, trainer.config.rollout.temperature, take, tell);
  for (const name of gradients.keys())
    if (!measured.has(name)) measured.set(name, { found: Number.NaN, plain: 0, distance: Number.NaN });
  const largest = Math.max(...[...measured.values()].map(({ plain }) => plain));
  const pairs = (relative: number, of: (norms: Norms) => Pick<Pair, 'found' | 'plain'>) =>
    [...measured].map(
      ([tensor, norms]): Pair => ({
        ...of(norms),
        bound: relative * (norms.plain + floor * largest) + SLACK * unsure * largest,
        tensor,
      }),
    );
  return {
    comparisons: [
      ...worstOf(
        handOver,
        'norm of the gradient',
        pairs(norm, ({ found, plain }) => ({ found, plain })),
      ),
      ...worstOf(
        handOver,
        'distance to the plain gradient',
        pairs(gradient, ({ distance }) => ({ found: distance, plain: 0 })),
      ),
    ],
  };
}

/** Share of the slopes up to which rounding of the log-probs may change them. */
const SURE = 0.1;

/** What a change of the slopes may do to one tensor's gradient, beside its share of them. */
const SLACK = 4;

const sizeOf = (slopes: readonly Slopes[]) => Math.hypot(...slopes.flatMap(({ logprobs }) => [...logprobs]));

const changeOf = (slopes: readonly Slopes[], others: readonly Slopes[]) =>
  Math.hypot(
    ...slopes.flatMap(({ logprobs }, i) => Array.from(logprobs, (x, t) => x - others[i]!.logprobs[t]!)),
  );

/** Norms of the two gradients of a tensor, and of their difference. */
interface Norms {
  found: number;
  plain: number;
  distance: number;
}

const joined = (one: Norms | undefined, other: Norms): Norms =>
  one
    ? {
        found: Math.hypot(one.found, other.found),
        plain: Math.hypot(one.plain, other.plain),
        distance: Math.hypot(one.distance, other.distance),
      }
    : other;

/** What the trainer has of a tensor whose plain gradient comes some rows at a time. */
const rowsOf = (found: Tensor | undefined, plain: Tensor, start: number): Tensor | undefined =>
  found && start + plain.size(0) <= found.size(0) ? found.narrow(0, start, plain.size(0)) : undefined;

/** Elements that are compared at once: no copy of a whole tensor is made. */
const PIECE = 2 ** 20;

/** NaN where the trainer has no gradient of this shape. */
function normsOf(found: Tensor | undefined, plain: Tensor): Norms {
  const isThere = `${found?.shape}` === `${plain.shape}`;
  const squares = { found: 0, plain: 0, distance: 0 };
  noGrad(() =>
    tidy(() => {
      const [own, other] = [plain, isThere ? found! : plain].map((x) => x.reshape([-1])) as [Tensor, Tensor];
      const square = (x: Tensor) => x.matmul(x).item();
      for (let start = 0; start < own.numel; start += PIECE)
        tidy(() => {
          const [p, f] = [own, other].map((x) => x.narrow(0, start, Math.min(PIECE, own.numel - start)));
          squares.plain += square(p!);
          squares.found += square(f!);
          squares.distance += square(f!.sub(p!));
        });
    }),
  );
  return isThere
    ? {
        found: Math.sqrt(squares.found),
        plain: Math.sqrt(squares.plain),
        distance: Math.sqrt(squares.distance),
      }
    : { found: Number.NaN, plain: Math.sqrt(squares.plain), distance: Number.NaN };
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
