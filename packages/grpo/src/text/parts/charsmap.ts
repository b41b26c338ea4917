const SEGMENTER = new Intl.Segmenter('en', { granularity: 'grapheme' });
const UTF8 = new TextDecoder();

/**
 * SentencePiece's map of characters: a double-array trie (of the Darts library) over the bytes of what is replaced, and
 * behind it the replacements. It is looked up as the Rust library does: a character with its marks is replaced as one if
 * some beginning of it stands in the map, the shortest one deciding; else character by character.
 * @param base64 the number of bytes of the trie, the trie, the replacements, each ended by a zero
 * @throws Error when it is no such map
 */
export function charsmapOf(base64: string): (text: string) => string {
  const bytes = Buffer.from(base64, 'base64');
  const size = bytes.length < 4 ? -1 : bytes.readUInt32LE(0);
  if (size < 4 || size % 4 !== 0 || size > bytes.length - 4)
    throw new Error('its precompiled_charsmap is no map of characters');
  const trie = Uint32Array.from({ length: size / 4 }, (_, i) => bytes.readUInt32LE(4 + 4 * i));
  const texts = bytes.subarray(4 + size);

  /** What replaces a text by the shortest beginning of it that the map has; undefined when it has none. */
  const replacement = (text: string): string | undefined => {
    let node = offsetOf(trie[0]!);
    for (const byte of Buffer.from(text)) {
      // Like C's strings, the trie's keys hold no zero.
      if (byte === 0) return undefined;
      node ^= byte;
      const unit = trie[node];
      if (unit === undefined || labelOf(unit) !== byte) return undefined;
      node ^= offsetOf(unit);
      if (!hasLeaf(unit)) continue;
      const start = (trie[node] ?? 0) & 0x7fffffff;
      const end = texts.indexOf(0, start);
      return UTF8.decode(texts.subarray(start, end < 0 ? undefined : end));
    }
    return undefined;
  };
  const known = new Map<string, string>();
  const changed = (grapheme: string): string => {
    const whole = Buffer.byteLength(grapheme) < 6 ? replacement(grapheme) : undefined;
    return whole ?? Array.from(grapheme, (char) => replacement(char) ?? char).join('');
  };
  return (text) => {
    let result = '';
    for (const { segment } of SEGMENTER.segment(text)) {
      let one = known.get(segment);
      if (one === undefined) {
        one = changed(segment);
        if (known.size < 10_000) known.set(segment, one);
      }
      result += one;
    }
    return result;
  };
}

const hasLeaf = (unit: number) => ((unit >>> 8) & 1) === 1;
const labelOf = (unit: number) => unit & 0x800000ff;
const offsetOf = (unit: number) => (unit >>> 10) << ((unit & 0x200) >>> 6);
