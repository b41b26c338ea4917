import { grad, tensor, tidy } from '@grpo/torch';
import type { Config } from '../../config/index.js';
import { lossSlopes } from '../../doctor/recompute/loss-slopes.js';
import type { LossRow } from '../../doctor/recompute/policy-slopes.js';
import { largest, nonzero, sum } from '../../maths/moments.js';
import type { LossInput } from '../../objective/index.js';
import { updateSize } from '../../step/accumulate-gradients.js';
import { declaredOf } from '../../trace/declared-of.js';
import type { Declared, HandOver } from '../../trace/index.js';
import type { AuditContext, Measured } from '../context.js';
import { declaredDraw } from '../order/declared-draw.js';
import { samplerLogprobs } from '../places.js';
import { explained, type Hypothesis, type Pair, worstOf } from '../worst.js';
import { otherKls, otherLosses } from './other-losses.js';

/** Nats that log-probs are moved by, either way: beyond what losses clip, and far above rounding. */
const APART = 1;

/** Relative: sums in float32 of what is exponentiated there. */
const ROUNDING = 1e-4;
/** Relative to the slopes of the whole loss: of a small KL, their difference keeps few digits. */
const CANCELLED = 2 ** -21;

/**
 * Loss → how it changes with each log-prob, with the log-probs of old policy and reference moved away from the policy's:
 * in the first steps of a run they are the same, and a ratio of 1 and a KL of 0 show little.
 */
export function auditLossSlopes(context: AuditContext): Measured {
  const { trainer, batch, chosen } = context;
  const { config, ownStages, control } = trainer;
  const handOver = 'loss';
  if (ownStages?.includes('objective'))
    return { handOver, missing: 'the standard stage objective: yours is a loss of its own' };
  const rows = chosen.map((b) => movedRow(context, b));
  if (rows.every(({ mask }) => sum(mask!) === 0)) return { handOver, missing: 'a token that is trained on' };
  const declared = { ...declaredOf(config), ...(ownStages && { ownStages: [...ownStages] }) };
  const slopesOf = (by: Declared, of: readonly LossRow[]) => {
    const slopes = lossSlopes(by, of, {
      sizes: [of.length],
      trained: batch.masks_B.map((mask) => sum(mask)),
      entropyCoefficient: control.entropyCoefficient,
    });
    return typeof slopes === 'string' ? slopes : slopes.map(({ logprobs }) => logprobs);
  };
  const without = withoutKl(rows);
  const [plain, plainWithout] = [slopesOf(declared, rows), slopesOf(declared, without)];
  if (typeof plain === 'string' || typeof plainWithout === 'string')
    return { handOver, missing: typeof plain === 'string' ? plain : String(plainWithout) };
  const found = trainerSlopes(context, rows);
  const foundWithout = trainerSlopes(context, without);
  const whole = largest(plain.flatMap((slopes) => Array.from(slopes, Math.abs)));
  const isByToken = config.objective.ratio === 'token';
  /** Names a token by the numbers that decide whether it is clipped. */
  const place = (i: number, t: number) => {
    const { policy, old, advantage } = rows[i]!;
    const ratio = old && isByToken ? ` and ratio ${Math.exp(policy[t]! - old[t]!).toPrecision(3)}` : '';
    return { tensor: `a token with advantage ${advantage.toPrecision(3)}${ratio}` };
  };
  const pairsOf = (of: HandOver, own: SlopeRows, other: SlopeRows): Pair[] => {
    const most = largest(other.flatMap((row) => Array.from(row, Math.abs)));
    const bound = ROUNDING * most + CANCELLED * whole;
    return other.flatMap((row, i) =>
      Array.from(row, (slope, token): Pair => {
        const named = of === 'loss' && place(i, token);
        return { found: own[i]![token]!, plain: slope, bound, completion: chosen[i]!, token, ...named };
      }),
    );
  };
  const policyPairs = (by: SlopeRows) => pairsOf('loss', foundWithout, by);
  const klPairs = (all: SlopeRows, policy: SlopeRows) =>
    pairsOf('kl', differences(found, foundWithout), differences(all, policy));
  function* losses(): Generator<Hypothesis> {
    for (const { what, slopes, ...other } of otherLosses(declared, without)) {
      const by = slopesOf(other.declared, other.rows);
      if (typeof by === 'string') continue;
      yield { what, pairs: policyPairs(slopes ? by.map((row, i) => slopes(row, without[i]!)) : by) };
    }
    const everyToken = slopesOf({ ...declared, entropy: { ...declared.entropy, topShare: 1 } }, without);
    if (typeof everyToken === 'string') return;
    const { what, slopes } = otherTokens(config, foundWithout, everyToken);
    yield { what, pairs: policyPairs(slopes) };
  }
  function* kls(): Generator<Hypothesis> {
    for (const { what, ...other } of otherKls(declared, rows)) {
      const all = slopesOf(other.declared, other.rows);
      const policy = slopesOf(other.declared, withoutKl(other.rows));
      if (typeof all !== 'string' && typeof policy !== 'string') yield { what, pairs: klPairs(all, policy) };
    }
  }
  const [loss] = worstOf('loss', 'slope of the loss without the KL', policyPairs(plainWithout));
  const hasKl = rows.some(({ beta }) => beta !== 0);
  const [kl] = hasKl ? worstOf('kl', 'slope of the KL in the loss', klPairs(plain, plainWithout)) : [];
  return { comparisons: [explained(loss!, losses()), ...(kl ? [explained(kl, kls())] : [])] };
}

/** Slopes in the log-probs of each completion. */
type SlopeRows = readonly ArrayLike<number>[];

const differences = (of: SlopeRows, less: SlopeRows): number[][] =>
  of.map((row, i) => Array.from(row, (slope, t) => slope - less[i]![t]!));

const withoutKl = (rows: readonly LossRow[]): LossRow[] => rows.map((row) => ({ ...row, beta: 0 }));

/** Each token with the slope that it has where all are learnt from, or none, as was found: others are chosen than should be. */
function otherTokens({ entropy }: Config, found: SlopeRows, everyToken: SlopeRows) {
  const slopes = everyToken.map((row, i) => Array.from(row, (slope, t) => (found[i]![t] === 0 ? 0 : slope)));
  const [learnt, all] = [sum(slopes.map(nonzero)), sum(slopes.map(({ length }) => length))];
  const of =
    entropy.topShare < 1
      ? 'entropy.topShare over other tokens than those of highest entropy'
      : 'the declared loss of some tokens alone';
  return { what: `${of} (${learnt} of ${all})`, slopes };
}

/** A completion as a loss takes it: the sampler's log-probs, and others at a distance that seed and place fix. */
function movedRow({ trainer, batch }: AuditContext, b: number): LossRow {
  const { config } = trainer;
  const logprobs = samplerLogprobs(batch.completions_B[b]!);
  const moved = (key: number) =>
    logprobs.map((logprob, t) => logprob + APART * (2 * declaredDraw(config.seed, key, b, t) - 1));
  const advantage = batch.advantages.advantages[b]!;
  const isTrained = batch.masks_B[b]!.length === logprobs.length;
  return {
    policy: logprobs,
    entropies: logprobs.map((logprob, t) => -logprob + declaredDraw(config.seed, 0, b, t)),
    old: config.objective.oldLogprobs === 'detach' ? undefined : moved(1),
    reference: config.kl.beta > 0 ? moved(2) : undefined,
    sampler: moved(3),
    mask: isTrained ? batch.masks_B[b]! : new Uint8Array(logprobs.length).fill(1),
    // Where rewards are equal, one that shows a slope at all.
    advantage: advantage === 0 ? 1 - 2 * (b % 2) : advantage,
    beta: config.kl.place === 'loss' ? config.kl.beta : 0,
  };
}

/** The same by the trainer's own stage. */
function trainerSlopes({ trainer, batch, chosen }: AuditContext, rows: readonly LossRow[]): Float32Array[] {
  const { config, control, stages, model } = trainer;
  const { device } = model.decoder;
  const { objective, kl, entropy, correction } = config;
  const lengths = rows.map(({ policy }) => policy.length);
  return tidy(() => {
    const leaf = (of: (row: LossRow) => Float32Array | undefined) => {
      const values = rows.map(of);
      if (values.includes(undefined)) return null;
      return tensor(Float32Array.from(values.flatMap((row) => [...row!])), undefined, { device });
    };
    const logprobs_T = leaf(({ policy }) => policy as Float32Array)!;
    const entropies_T = leaf(({ entropies }) => entropies)!;
    for (const one of [logprobs_T, entropies_T]) one.requiresGrad = true;
    const input: LossInput = {
      logprobs_T,
      entropies_T,
      oldLogprobs_T: leaf(({ old }) => old as Float32Array | undefined),
      referenceLogprobs_T: leaf(({ reference }) => reference),
      samplerLogprobs_T: leaf(({ sampler }) => sampler),
      fullKl_T: null,
      advantages: rows.map(({ advantage }) => advantage),
      lengths,
      mask: Uint8Array.from(rows.flatMap(({ mask }) => [...(mask as Uint8Array)])),
      update: updateSize(batch, chosen, objective),
      betas: rows.map(({ beta }) => beta),
      entropyCoefficient: control.entropyCoefficient,
      settings: { ...objective, kl, entropy, correction },
    };
    const { loss } = stages.objective(input);
    const [slopes] = loss.requiresGrad ? grad([loss], [logprobs_T]) : [];
    const values = (slopes?.toTypedArray() ?? new Float32Array(sum(lengths))) as Float32Array;
    let end = 0;
    return lengths.map((length) => {
      end += length;
      return values.slice(end - length, end);
    });
  });
}
