import { flatGroups, type Recipe, recompute } from '../doctor/recompute/advantage.js';
import { klTermsOf } from '../doctor/recompute/kl.js';
import { largest, sum } from '../maths/moments.js';
import type { Batch } from '../step/batch.js';
import type { Trainer } from '../step/trainer.js';
import type { Comparison } from '../trace/index.js';
import type { AuditContext, Measured } from './context.js';
import { compareExchange } from './exchange.js';
import { problemOf, samplerLogprobs } from './places.js';
import { plainTotals } from './rewards/totals.js';
import { textPair } from './text-pair.js';
import { type Pair, worstOf } from './worst.js';

/** Relative: sums of the same parts in another order, in float64. */
const ROUNDING = 2 ** -44;
/** Rounding of a mean and a difference in float32, in which TRL computes. */
const FLOAT32 = 2 ** -22;

/** Rewards → advantages of every completion, from the declared form; and the masks and the β that the loss takes. */
export function auditAdvantages({ trainer, batch, step }: AuditContext): Measured {
  const penalties = penaltiesOf(trainer, batch);
  return {
    comparisons: [
      ...(trainer.ownStages?.includes('advantage') ? [] : compareAdvantages(trainer, batch, penalties)),
      ...compareExchange(trainer.config, batch),
      ...comparePenalties(batch, penalties),
      ...compareMasks(trainer, batch),
      ...compareBetas(trainer, batch, step),
    ],
  };
}

function compareAdvantages({ config }: Trainer, batch: Batch, penalties: readonly Penalty[]): Comparison[] {
  const { columns, weights } = batch.rewardTable;
  // Those that were taken, as far as these are the declared ones: their rounding is no matter of the advantages.
  const taken = Float64Array.from(penalties, ({ plain, bound }, b) => {
    const found = batch.klPenalties_B?.[b] ?? 0;
    return Math.abs(found - plain) <= bound ? found : plain;
  });
  const { clip = Number.POSITIVE_INFINITY, ...declared } = config.advantage;
  const { baseline = 'group', scale = 'group', ...others } = declared;
  const recipe: Recipe = { baseline, scale, ...others };
  const isTrl = config.objective.compat !== undefined;
  const size = config.rollout.group;
  const groups = batch.problems.map((_, p) => Array.from({ length: size }, (__, i) => p * size + i));
  const totals = plainTotals(batch.rewardTable).map((total, b) => total - (taken[b] ?? 0));
  const rewards =
    taken.length > 0
      ? { totals, columns: [...columns, taken], weights: [...weights, -1] }
      : { totals, columns, weights };
  const plain = recompute(rewards, groups, recipe);
  const { advantages, dropped } = batch.advantages;
  const most = Math.max(0, largest(totals.map(Math.abs)));
  const pairs = groups.flatMap((group) => {
    const own = group.map((b) => totals[b]!);
    const deviation = deviationOf(own) || 0;
    const divisor = {
      none: 1,
      mean: meanOf(own),
      group: Math.max(deviation, recipe.floor) + recipe.epsilon,
      batch: Math.max(deviation, recipe.floor) + recipe.epsilon,
    }[recipe.scale];
    return group.map((completion) => {
      const value = Math.max(-clip, Math.min(clip, plain[completion]!));
      const noise = (isTrl ? FLOAT32 : ROUNDING) * most;
      return {
        found: advantages[completion]!,
        plain: value,
        // Rewards are centred, then divided by what may be little, and perhaps once more over the batch.
        bound: 2 * (noise / Math.min(1, divisor || 1) + (isTrl ? 1e-5 : 1e-9) * Math.max(1, Math.abs(value))),
        completion,
      };
    });
  });
  const flat = recipe.flat === 'drop' ? flatGroups(rewards, groups, recipe) : [];
  const left = flat.length < groups.length ? flat : [];
  return [
    ...worstOf('advantage', 'advantage', pairs),
    ...worstOf('advantage', 'list of groups that are dropped', [
      textPair([...dropped].sort((a, b) => a - b).join(' '), left.join(' ')),
    ]),
  ];
}

const knownOf = (values: readonly number[]) => values.filter((value) => !Number.isNaN(value));
const meanOf = (values: readonly number[]) => sum(knownOf(values)) / knownOf(values).length;

function deviationOf(values: readonly number[]): number {
  const known = knownOf(values);
  const mean = meanOf(values);
  return Math.sqrt(sum(known.map((value) => (value - mean) ** 2)) / known.length);
}

/** β × KL of a completion, as the declared form gives it. */
type Penalty = Pick<Pair, 'plain' | 'bound'> & { plain: number };

/** The KL penalty that each reward is declared to lose; empty when the KL is part of the loss. */
function penaltiesOf({ config }: Trainer, batch: Batch): Penalty[] {
  const { kl } = config;
  const { reference_B, old_B, completions_B, betas_P } = batch;
  if (kl.place !== 'reward' || !reference_B || kl.estimator === 'full') return [];
  const settings = { level: kl.level, ...(kl.clip !== undefined && { clip: kl.clip }) };
  return completions_B.map((one, completion) => {
    const [policy, reference] = [old_B?.[completion] ?? samplerLogprobs(one), reference_B[completion]!];
    const terms = klTermsOf(kl.estimator, settings, { policy, reference });
    const value = kl.level === 'token' ? sum(terms) : sum(terms) / Math.max(terms.length, 1);
    const beta = betas_P[problemOf(batch, completion)]!;
    // Sums in float32, of terms that are differences of what float32 has rounded.
    const rounding = sum(terms.map((term, t) => 1e-5 * Math.abs(term) + gapOf(policy, reference, t)));
    return { plain: beta * value, bound: 1e-9 + beta * rounding };
  });
}

/** A penalty that is not declared is one of 0. */
function comparePenalties(
  { klPenalties_B, completions_B }: Batch,
  penalties: readonly Penalty[],
): Comparison[] {
  if (!klPenalties_B && penalties.length === 0) return [];
  const pairs = completions_B.map((_, completion) => ({
    found: klPenalties_B?.[completion] ?? Number.NaN,
    ...(penalties[completion] ?? { plain: 0, bound: 0 }),
    completion,
  }));
  return worstOf('advantage', 'KL that is taken from the reward', pairs);
}

const gapOf = (a: Float32Array, b: Float32Array, t: number) => FLOAT32 * Math.abs(a[t]! - b[t]!);

/**
 * All tokens of a completion are trained on, its end included; none of one that was cut, where these are left out, and of
 * a masked-diffusion model those alone that some pass hides.
 */
function compareMasks({ config, ownStages }: Trainer, batch: Batch): Comparison[] {
  if (ownStages?.includes('assemble')) return [];
  const pairs = [...new Set(batch.iterations)].flatMap(({ masks_B, masked_B }) =>
    batch.completions_B.map(({ ids, finishReason }, completion) => {
      const isLeftOut = config.objective.maskTruncated && finishReason === 'length';
      const plan = masked_B?.[completion]?.plan;
      const plainOf = (t: number) =>
        Number(!isLeftOut && (plan?.some(({ region }) => region[t] === 1) ?? true));
      const mask = masks_B[completion] ?? new Uint8Array();
      const token = ids.findIndex((_, t) => mask[t] !== plainOf(t));
      const t = Math.max(token, 0);
      const at = token < 0 ? {} : { token };
      return { found: mask[t] ?? Number.NaN, plain: plainOf(t), bound: 0, completion, ...at };
    }),
  );
  return worstOf('loss', 'mask of a token', pairs);
}

/** β of each prompt, where nothing but the step moves it. */
function compareBetas({ config }: Trainer, { betas_P }: Batch, step: number): Comparison[] {
  const { beta, control, warmup, warmupSteps } = config.kl;
  if (control !== 'fixed') return [];
  const early = warmup === 'zero' ? 0 : step / warmupSteps;
  const plain = step < warmupSteps ? beta * early : beta;
  return worstOf(
    'kl',
    'β',
    betas_P.map((found, prompt) => ({ found, plain, bound: 1e-12 * beta, prompt })),
  );
}
