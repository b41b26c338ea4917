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
  const plain = (number: string) => number.replace(/[\s,$]|\.$/g, '');
  if (/^-?[\d.,]+$/.test(answer))
    return plain(text.match(/-?\d[\d,]*(\.\d+)?/g)?.at(-1) ?? '') === plain(answer);
  const words = (part: string) => part.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  const gold = words(answer);
  const last = words(text.replace(/(<[^<>]*>\s*)+$/, '')).slice(-gold.length);
  return gold.length > 0 && gold.join(' ') === last.join(' ');
}
