/** What completions answer, beside the reference answers of their prompts. */

/** The answer itself, of a worked solution the last line. */
export const goldIn = (answer: string): string =>
  answer
    .trim()
    .split('\n')
    .at(-1)!
    .replace(/^#### */, '')
    .trim();

/** Returns whether a text ends in the answer: as its last number, or as its last words. */
export function endsIn(text: string, answer: string): boolean {
  if (isNumber(answer)) return plain(numbersIn(text).at(-1) ?? '') === plain(answer);
  const words = (part: string) => part.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  const gold = words(answer);
  const last = words(text.replace(/(<[^<>]*>\s*)+$/, '')).slice(-gold.length);
  return gold.length > 0 && gold.join(' ') === last.join(' ');
}

/** Returns whether a text has the answer anywhere: as one of its numbers, or as a part of it. */
export const contains = (text: string, answer: string): boolean =>
  isNumber(answer)
    ? numbersIn(text).some((number) => plain(number) === plain(answer))
    : answer !== '' && text.includes(answer);

/** The last number of a text, as it is compared; undefined where it has none. */
export const givenIn = (text: string): string | undefined => {
  const last = numbersIn(text).at(-1);
  return last === undefined ? undefined : plain(last);
};

/** The last number of a text, and of an answer that is one; undefined where either is another thing, such as a part of a fraction. */
export function lastNumbers(text: string, answer: string): [given: number, gold: number] | undefined {
  const end = text.match(/(?<![\d.,/^*%\\])(-?\d[\d,]*(?:\.\d+)?)(?![\d/^*%])[^\d]*$/)?.[1];
  if (!isNumber(answer) || end === undefined) return undefined;
  const [given, gold] = [Number(plain(end)), Number(plain(answer))];
  return Number.isNaN(given + gold) ? undefined : [given, gold];
}

const isNumber = (answer: string) => /^-?[\d.,]+$/.test(answer);

const numbersIn = (text: string): readonly string[] => text.match(/-?\d[\d,]*(\.\d+)?/g) ?? [];

const plain = (number: string) => number.replace(/[\s,$]|\.$/g, '');
