import type { Config } from '../../config/schema.js';
import { sum } from '../../maths/moments.js';
import type { Completion } from '../../rollout/index.js';
import { CHANCE_NATS, type Comparison, FIRST_TOKEN, LIKELIHOOD } from '../../trace/index.js';
import { MOST_CHOSEN } from '../chosen.js';
import type { AuditContext, Measured } from '../context.js';
import { type Drawn, TEMPERATURES } from '../plain/plain-drawing.js';
import { scoreSequences } from '../plain/plain-logprobs.js';
import type { PlainModel } from '../plain/plain-model.js';
import { explained, type Hypothesis, type Pair, worstOf } from '../worst.js';
import { compareFilled } from './compare-filled.js';
import { compareNumbers } from './compare-numbers.js';
import { compareRows, type LogProbRow } from './compare-rows.js';
import { drawnBy, otherRules } from './other-rules.js';
import { type PlainCompletion, type PlainStep, samplingRules } from './plain-step.js';
import { widened } from './rounding.js';
import { RARE, type Tolerance, toleranceOf } from './tolerance.js';

/** Prompt → completion: the sampler's own numbers, its draws as a whole, and how like each other they are. */
export function compareCompletions(context: AuditContext, { model, completions }: PlainStep): Measured {
  const { trainer, batch } = context;
  const handOver = 'completion';
  if (trainer.ownStages?.includes('sample'))
    return { handOver, missing: 'the standard stage sample: yours draws as it likes' };
  const own = completions.filter(({ isOwn }) => isOwn);
  if (own.length === 0) return { handOver, missing: 'a completion of this step: all are replayed' };
  // Places are filled in an order that depends on the draws, so that these have no likelihood to be held to.
  if (own.some(({ masked }) => masked)) return { comparisons: compareFilled(context, model, own) };
  const tolerance = toleranceOf(trainer.model.decoder.dtype);
  const rows = own.map(({ place, scores, moved }) => {
    const found = batch.completions_B[place]!.logprobs;
    // A server tells log-probs over the support alone.
    const isTold = !found.every(Number.isNaN);
    return {
      completion: place,
      found,
      plain: scores.whole,
      ...(!isTold && { tokens: [] }),
      moved: () => moved().whole,
    };
  });
  const isSampled = (_: Completion, b: number) => !batch.exchange?.replayed.has(batch.problemOf(b));
  const sampled = batch.completions_B.filter(isSampled);
  // A server's kernels round otherwise than the bounds know: what is left to compare is what was drawn.
  const isOwnEngine = trainer.servers?.records.every((server) => server.isOwnEngine) ?? true;
  const logprobs = isOwnEngine ? compareRows(handOver, 'log-prob of the sampler', rows, tolerance) : [];
  const agrees = logprobs.every(({ deviation, bound }) => deviation <= bound);
  return {
    comparisons: [
      // Each other prompt costs a pass: asked only where the completions do not fit theirs.
      ...(agrees ? [] : explaining(context, model, own)),
      ...logprobs,
      ...(agrees ? [] : firstTokens(rows, tolerance)),
      ...(isOwnEngine ? compareDrawn(context, model, own, tolerance) : []),
      ...(isOwnEngine ? compareNumbers(context, own.map(drawnInTurn)) : []),
      ...compareSupports(trainer.config, own, batch.completions_B, isOwnEngine),
      ...likelihoods(own, logChoices(sampled.length), tolerance.all),
      ...likeness(sampled),
    ],
  };
}

/** Log-prob above which a token is so sure that no fault of the logits shows in it. */
const SURE = -0.05;

/** The first token of each completion that is not sure; the very first come from the pass over the prompt. */
function firstTokens(rows: readonly LogProbRow[], tolerance: Tolerance): Comparison[] {
  const first = rows.flatMap((row) => {
    const token = row.plain.findIndex((logprob) => logprob < SURE);
    return token < 0 ? [] : [{ ...row, tokens: row.tokens ?? [token] }];
  });
  return compareRows('completion', FIRST_TOKEN, first, tolerance).slice(0, 1);
}

/** Other prompts that are asked whether a completion is theirs. */
const OTHERS = 8;

/** The prompt under which each completion is likeliest, where that is beyond chance another than its own. */
function explaining(
  { trainer, batch, tell }: AuditContext,
  model: PlainModel,
  completions: readonly PlainCompletion[],
): Comparison[] {
  const { temperature } = trainer.config.rollout;
  const pairs = completions.map((one): Pair => {
    const own = batch.problemOf(one.place);
    let best = { p: own, total: sum(one.scores.whole) + RARE };
    const others = [...batch.prompts.keys()].filter((p) => p !== own).slice(0, OTHERS);
    const { completion } = one;
    const sequences = others.map((p) => ({ prompt: batch.prompts[p]!.ids, completion }));
    for (const [i, { logprobs }] of scoreSequences(model, sequences, temperature, tell).entries())
      if (sum(logprobs) > best.total) best = { p: others[i]!, total: sum(logprobs) };
    const named = { found: `prompt ${own + 1}`, plain: `prompt ${best.p + 1}` };
    return { ...named, bound: 0, prompt: own, completion: one.place };
  });
  return worstOf('completion', 'prompt of a completion', pairs);
}

const drawnInTurn = ({ place, scores: { drawn }, moved }: PlainCompletion) => ({
  place,
  moved: () => moved().numbers,
  drawn: drawn.map((one, t) => ({ ...one, keys: [t] })),
});

function compareDrawn(
  { trainer, batch, tell }: AuditContext,
  model: PlainModel,
  completions: readonly PlainCompletion[],
  { token, roundings }: Tolerance,
): Comparison[] {
  type Besides = (moved: () => number) => number;
  /** A token at the bound of a truncation may be kept or not: its log-prob has a range. */
  const pairsOf = (drawn: readonly (readonly Drawn[])[], besides: Besides) =>
    completions.flatMap(({ place, moved }, i) =>
      drawn[i]!.map(({ logprob, least, most }, t): Pair => {
        const found = batch.completions_B[place]!.sampledLogprobs[t]!;
        const nearest = Math.min(Math.max(found, least), most);
        const deviation = found === nearest ? 0 : Math.abs(found - nearest);
        const bound = token + besides(() => moved().whole[t]!);
        return { found, plain: logprob, deviation, bound, completion: place, token: t };
      }),
    );
  const declared = completions.map(({ scores }) => scores.drawn);
  let widest: Besides = () => 0;
  const compared = widened(roundings, (besides) => {
    widest = besides;
    return worstOf('completion', 'log-prob under the distribution drawn from', pairsOf(declared, besides));
  });
  function* others(firstOff: number | undefined): Generator<Hypothesis> {
    for (const { what, rulesOf } of otherRules(samplingRules(trainer), firstOff)) {
      tell();
      const drawn = completions.map((one) => drawnBy(model, one, rulesOf(one)));
      yield { what, pairs: pairsOf(drawn, widest) };
    }
  }
  return compared.map((one) => explained(one, others(one.off?.firstToken)));
}

/** The ids that each token could have been drawn from, where the settings say that they are kept. */
function compareSupports(
  { rollout }: Config,
  completions: readonly PlainCompletion[],
  sampled: readonly Completion[],
  isOwnEngine: boolean,
): Comparison[] {
  const { keepSupport, temperature, topK, topP, minP } = rollout;
  const isKept = keepSupport && temperature > 0 && (topK > 0 || topP < 1 || minP > 0);
  const counts = completions.map(({ place, completion }): Pair => {
    const found = sampled[place]!.support?.length ?? 0;
    return { found, plain: isKept ? completion.length : 0, bound: 0, completion: place };
  });
  const ids = completions.flatMap(({ place, scores }) =>
    scores.drawn.flatMap(({ misplaced }, token): Pair[] =>
      misplaced === undefined ? [] : [{ found: misplaced, plain: 0, bound: 0, completion: place, token }],
    ),
  );
  return [
    ...worstOf('completion', 'tokens with the ids that were kept', counts),
    ...(isOwnEngine
      ? worstOf('completion', 'ids that were kept and should not be, or the reverse', ids)
      : []),
  ];
}

/**
 * Whether the draws fit another temperature better than the declared one. Of draws of the declared distribution the ratio of
 * the two likelihoods has the mean 1, however rare single tokens are: it reaches exp(n) once in exp(n) runs at most (Ville's
 * inequality), over all steps together, too. Completions are chosen by what they earned, so the likeliest choice of all counts.
 *
 * @param choices - log of the number of choices
 */
function likelihoods(completions: readonly PlainCompletion[], choices: number, drift: number): Comparison[] {
  const drawn = completions
    .flatMap(({ scores }) => scores.drawn)
    .filter(({ logprob }) => Number.isFinite(logprob));
  if (drawn.length === 0) return [];
  const plain = sum(drawn.map(({ logprob }) => logprob));
  return TEMPERATURES.flatMap((times, k) => {
    const found = sum(drawn.map(({ tempered }) => tempered[k]!));
    const bound = CHANCE_NATS + choices + Math.abs(1 / times - 1) * drift * drawn.length;
    const pair = { found, plain, deviation: found - plain, bound, compared: drawn.length };
    return worstOf('completion', `${LIKELIHOOD} ${times}`, [pair]);
  });
}

/** Log of the number of ways to choose as many of n completions as are computed again at most, or fewer. */
function logChoices(n: number): number {
  let [ways, all] = [1, 1];
  for (let k = 0; k < Math.min(n, MOST_CHOSEN); k++) {
    ways *= (n - k) / (k + 1);
    all += ways;
  }
  return Math.log(all);
}

/**
 * The longest beginning that two completions share, as its surprise in nats: that two draws agree in it has the
 * probability exp(−nats), whatever their prompts are.
 */
function likeness(completions: readonly Completion[]): Comparison[] {
  const pairs = (completions.length * (completions.length - 1)) / 2;
  if (pairs === 0) return [];
  let worst = { nats: 0, completion: 0 };
  for (const [i, one] of completions.entries()) {
    for (let j = i + 1; j < completions.length; j++) {
      const nats = sharedSurprise(one, completions[j]!);
      if (nats > worst.nats) worst = { nats, completion: j };
    }
  }
  const bound = RARE + Math.log(pairs);
  const pair = { found: worst.nats, plain: 0, bound, completion: worst.completion };
  return worstOf('completion', 'surprise of a beginning that two completions share', [pair]).map((one) => ({
    ...one,
    compared: pairs,
  }));
}

function sharedSurprise(one: Completion, other: Completion): number {
  let nats = 0;
  for (let t = 0; t < one.ids.length && one.ids[t] === other.ids[t]; t++) nats -= other.sampledLogprobs[t]!;
  return nats;
}
