/** The difference of two texts, word by word. */

export interface Piece {
  /** In both texts, or in one of them. */
  of: 'both' | 'here' | 'there';
  text: string;
}

/** Longer texts are compared up to here. */
const MOST_CHARACTERS = 20_000;
/** Words between the equal beginning and the equal end. */
const MOST_WORDS = 600;

/** Returns the longest common subsequence of words, and the words that one text alone has. */
export function wordDifference(here: string, there: string): { pieces: Piece[]; isCut: boolean } {
  const [a, b] = [wordsOf(here), wordsOf(there)];
  const least = Math.min(a.length, b.length);
  let first = 0;
  while (first < least && a[first] === b[first]) first++;
  let last = 0;
  while (last < least - first && a.at(-1 - last) === b.at(-1 - last)) last++;
  const [all, others] = [a.slice(first, a.length - last), b.slice(first, b.length - last)];
  const pieces: Piece[] = [];
  const add = (of: Piece['of'], text: string) => {
    const before = pieces.at(-1);
    if (before?.of === of) before.text += text;
    else if (text !== '') pieces.push({ of, text });
  };
  add('both', a.slice(0, first).join(''));
  for (const { of, text } of middle(all.slice(0, MOST_WORDS), others.slice(0, MOST_WORDS))) add(of, text);
  const isMiddleCut = Math.max(all.length, others.length) > MOST_WORDS;
  if (!isMiddleCut) add('both', a.slice(a.length - last).join(''));
  return { pieces, isCut: isMiddleCut || Math.max(here.length, there.length) > MOST_CHARACTERS };
}

const wordsOf = (text: string): string[] =>
  text.slice(0, MOST_CHARACTERS).match(/\s+|[\p{L}\p{N}\p{M}_]+|[^\s]/gu) ?? [];

function middle(a: readonly string[], b: readonly string[]): Piece[] {
  const width = b.length + 1;
  // Words that the rests from i and from j have in common.
  const common = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      common[i * width + j] =
        a[i] === b[j]
          ? common[(i + 1) * width + j + 1]! + 1
          : Math.max(common[(i + 1) * width + j]!, common[i * width + j + 1]!);
  const pieces: Piece[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      pieces.push({ of: 'both', text: a[i]! });
      i++;
      j++;
    } else if (j >= b.length || (i < a.length && common[(i + 1) * width + j]! >= common[i * width + j + 1]!))
      pieces.push({ of: 'here', text: a[i++]! });
    else pieces.push({ of: 'there', text: b[j++]! });
  }
  return pieces;
}
