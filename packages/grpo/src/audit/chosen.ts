import { permutation } from '../maths/random.js';
import type { AuditSize } from '../memory/audit-bytes.js';
import type { Batch } from '../step/batch.js';

/** Prompts that are computed again, and completions of each: a prompt that is shared, and two that are not one. */
const PROMPTS = 2;
const COMPLETIONS = 2;

/** Completions that are computed again at most. */
export const MOST_CHOSEN = PROMPTS * COMPLETIONS;

/** Tokens up to which a sequence costs little beside a step: the work of its attention grows with their square. */
const SHORT = 1024;

/** Weights × tokens that are computed again: 0.5 billion weights with 200 tokens take about as long as a small step. */
const WORK = 1e11;

/**
 * Most tokens of the completions that are computed again: of one and of all, with their prompts and by themselves.
 *
 * @param weights - numbers of the model
 * @param lengths - tokens of the longest prompt, and of the longest completion
 * @param shares - whether completions of one prompt are trained in one pass
 */
export function auditedTokens(
  weights: number,
  { prompt, completion }: { prompt: number; completion: number },
  shares: boolean,
): AuditSize {
  const longest = prompt + completion;
  const tokens = Math.max(longest, Math.min(MOST_CHOSEN * longest, Math.floor(WORK / weights)));
  const packed = PROMPTS * prompt + MOST_CHOSEN * completion;
  return {
    longest,
    tokens,
    packed: shares ? Math.min(tokens, packed) : tokens,
    scored: { longest: completion, all: MOST_CHOSEN * completion },
  };
}

/** Tokens of a pass over a completion with its prompt. */
function lengthOf(batch: Batch, b: number): number {
  const { ids, region } = batch.completions_B[b]!;
  return batch.prompts[batch.problemOf(b)]!.ids.length + (region?.ids ?? ids).length;
}

/** Passes that estimate the log-probs of a completion. */
const passesOver = (batch: Batch, b: number): number => batch.iterations[0]?.masked_B?.[b]?.plan.length ?? 1;

/**
 * The completions that are computed again, drawn by seed and step: of prompts that teach something, where there are such,
 * and of their completions a better and a worse one. With a large model they are fewer, at least one: in turn two of one
 * prompt and two of two come first.
 *
 * @param weights - numbers of the model
 */
export function chosenOf(batch: Batch, seed: number, step: number, weights: number): number[] {
  const { problems, groupSize } = batch;
  const { advantages } = batch.advantages;
  const teaches = (b: number) => advantages[b] !== 0;
  const beyond = (b: number) => Math.max(0, lengthOf(batch, b) - SHORT);
  const groups = permutation(problems.length, seed, step)
    .map((p) =>
      permutation(groupSize, seed, step, p)
        .map((g) => p * groupSize + g)
        .sort((a, b) => beyond(a) - beyond(b) || Number(teaches(b)) - Number(teaches(a))),
    )
    .filter((own) => own.length > 0);
  groups.sort((a, b) => beyond(a[0]!) - beyond(b[0]!) || Number(teaches(b[0]!)) - Number(teaches(a[0]!)));
  const pairs = groups.slice(0, PROMPTS).map(([first, ...others]) => {
    const isOther = (b: number) => Math.sign(advantages[b]!) !== Math.sign(advantages[first!]!);
    others.sort((a, b) => beyond(a) - beyond(b) || Number(isOther(b)) - Number(isOther(a)));
    return [first!, ...others.slice(0, COMPLETIONS - 1)];
  });
  const chosen =
    step % 2 === 0
      ? pairs.flat()
      : Array.from({ length: COMPLETIONS }, (_, i) => pairs.flatMap((pair) => pair.slice(i, i + 1))).flat();
  const tokensOf = (b: number) => lengthOf(batch, b) * passesOver(batch, b);
  return affordable(chosen, tokensOf, weights).sort((a, b) => a - b);
}

/** Those of the places that cost little beside a step; the first is always one. */
export function affordable(
  places: readonly number[],
  tokensOf: (place: number) => number,
  weights: number,
): number[] {
  let work = 0;
  return places.filter((place, i) => {
    work += weights * tokensOf(place);
    return i === 0 || work <= WORK;
  });
}
