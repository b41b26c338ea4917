import type { Pair } from './worst.js';

/** Characters before and after the first difference that a record keeps. */
const BEFORE = 12;
const AFTER = 36;

/** Two texts that should be one: what they have where they differ first. */
export function textPair(
  found: string,
  plain: string,
): Pick<Pair, 'found' | 'plain' | 'bound' | 'deviation'> {
  let at = 0;
  while (at < found.length && found[at] === plain[at]) at++;
  const isEqual = found === plain;
  const start = isEqual ? 0 : Math.max(0, at - BEFORE);
  const excerpt = (text: string) => text.slice(start, (isEqual ? 0 : at) + AFTER);
  return { found: excerpt(found), plain: excerpt(plain), deviation: isEqual ? 0 : 1, bound: 0 };
}
