/** Byte-pair encoding of words by `tokenizer.json` as it stands: `text/parts/bpe.ts` does it the first way. */
import { isObject } from '../../formats/json.js';

/** Small letters behind a space: one word to every pattern of the byte-level tokenizers. */
const WORD = /(?<=[a-z.,]) [a-z]+(?=[ .,]|$)/g;

/** The space, as byte-level tokenizers write it. */
const SPACE = '\u0120';

/** The words of a text whose tokens `tokenizer.json` tells without a pattern, once each. */
export const plainWords = (text: string): string[] => [...new Set(text.match(WORD) ?? [])];

/**
 * Encodes a word of `plainWords`: the pair of lowest rank is joined until none is left (Sennrich et al., 2016).
 *
 * @param json - `tokenizer.json`
 * @returns undefined for a tokenizer of another kind
 */
export function plainBpe(
  json: Readonly<Record<string, unknown>>,
): ((word: string) => (number | undefined)[]) | undefined {
  const { model, normalizer, pre_tokenizer: split } = json;
  // Another normalizer may change a small letter, and another pre-tokenizer may cut a word.
  const isByteLevel = JSON.stringify(split ?? '').includes('"ByteLevel"');
  const isLeft = normalizer == null || (isObject(normalizer) && normalizer.type === 'NFC');
  if (!isObject(model) || model.type !== 'BPE' || !isByteLevel || !isLeft) return undefined;
  const vocab = model.vocab as Record<string, number>;
  const ranks = new Map(
    (model.merges as readonly (string | readonly string[])[]).map((pair, rank) => [
      typeof pair === 'string' ? pair : pair.join(' '),
      rank,
    ]),
  );
  const joined = (parts: string[]): string[] => {
    const rankAt = (at: number) => ranks.get(`${parts[at]} ${parts[at + 1]}`) ?? Number.POSITIVE_INFINITY;
    const places = [...parts.keys()].slice(0, -1);
    const best = places.reduce((least, at) => (rankAt(at) < rankAt(least) ? at : least), 0);
    if (parts.length < 2 || rankAt(best) === Number.POSITIVE_INFINITY) return parts;
    return joined([...parts.slice(0, best), parts[best]! + parts[best + 1]!, ...parts.slice(best + 2)]);
  };
  return (word) => {
    const spelled = word.replace(' ', SPACE);
    const isWhole = model.ignore_merges === true && vocab[spelled] !== undefined;
    return (isWhole ? [spelled] : joined([...spelled])).map((part) => vocab[part]);
  };
}
