/** Texts as lists of words, for rewards that compare without case and punctuation. */

/** The words of a text, in lower case; `don't` is one word. */
export const wordsOf = (text: string): string[] =>
  text
    .toLowerCase()
    .replaceAll('’', "'")
    .match(/[\p{L}\p{N}]+(?:'\p{L}+)*/gu) ?? [];

const FUNCTION_WORDS = new Set(
  (
    'a an the and or but of to in on at by for from with as is are was were be been it its this that these those he she ' +
    'they his her their who whom which what one person i you we not no do does did has have had there'
  ).split(' '),
);

/** The words that carry meaning. */
export const contentWords = (words: readonly string[]): string[] =>
  words.filter((word) => !FUNCTION_WORDS.has(word));

/** Each run of three neighbouring words, as often as it occurs. */
export const trigrams = (words: readonly string[]): string[] =>
  words.slice(2).map((word, i) => `${words[i]} ${words[i + 1]} ${word}`);

/** Whether all words of `part` stand in `whole`, one after another; an empty part stands nowhere. */
export const containsRun = (whole: readonly string[], part: readonly string[]): boolean =>
  part.length > 0 && ` ${whole.join(' ')} `.includes(` ${part.join(' ')} `);

/** Harmonic mean of the shares of words that two texts have in common (F1), 0 to 1. */
export function wordF1(a: readonly string[], b: readonly string[]): number {
  const left = new Map<string, number>();
  for (const word of b) left.set(word, (left.get(word) ?? 0) + 1);
  let common = 0;
  for (const word of a) {
    const rest = left.get(word) ?? 0;
    if (rest === 0) continue;
    left.set(word, rest - 1);
    common++;
  }
  return common === 0 ? 0 : (2 * common) / (a.length + b.length);
}
