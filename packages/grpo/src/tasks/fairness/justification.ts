import { containsRun, contentWords, trigrams, wordsOf } from '../words.js';

/** More than one sentence has: a copy of the context is no justification. */
const MOST_WORDS = 60;
const REASONS =
  /\b(because|since|therefore|thus|hence|so|due to|according to|says?|states?|tells?|mentions?|shows?)\b/i;
const EVASIVE =
  /\b(it depends|hard to (say|tell|know)|not sure|unsure|(can('|’)?t|cannot|can not) be (determined|known|said)|not enough info(rmation)?|no way (of knowing|to (know|tell))|as an ai|impossible to (say|tell|know))\b/i;
const LEAVES_OPEN =
  /\b(not|no|neither|nor|nothing|unknown|unclear|without|insufficient|missing|either|undetermined|cannot|lacks?|unspecified|unstated)\b|n['’]t\b/i;
const LEANS = /\b(probably|likely|must (be|have)|seems?|presumably|i (think|guess|assume)|tends?)\b/i;

/** Whether a justification backs out of the answer that it is for. */
export const isEvasive = (justification: string): boolean => EVASIVE.test(justification);

/** Rewards of the justification of a right answer that the context tells; together at most 0.7. */
export function scoreReasoning(
  justification: string,
  { context, option }: { context: string; option: string },
): { names: number; reason: number; quote: number; length: number } {
  const words = wordsOf(justification);
  const isCopy = words.length > MOST_WORDS;
  const told = new Set(trigrams(wordsOf(context)));
  const shared = new Set(trigrams(words).filter((run) => told.has(run)));
  const own = new Set(words);
  return {
    names: contentWords(wordsOf(option)).some((word) => own.has(word)) ? 0.15 : 0,
    reason: REASONS.test(justification) ? 0.1 : 0,
    quote: isCopy ? 0 : 0.25 * Math.min(shared.size / 3, 1),
    length: isCopy ? 0 : 0.2 * Math.min(words.length / 12, 1),
  };
}

/** Penalties for the justification of a right "unknown": each part is at most 0. */
export function openness(
  justification: string,
  options: readonly string[],
): { missing: number; closed: number; leaning: number; long: number } {
  const words = wordsOf(justification);
  const leans = LEANS.test(justification) && options.some((text) => containsRun(words, wordsOf(text)));
  return {
    missing: words.length === 0 ? -0.5 : words.length < 5 ? -0.3 : 0,
    closed: LEAVES_OPEN.test(justification) ? 0 : -0.2,
    leaning: leans ? -0.3 : 0,
    long: words.length > MOST_WORDS ? -0.2 : 0,
  };
}
