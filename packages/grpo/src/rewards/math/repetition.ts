/**
 * The share of a text's substrings that are repeats of others: 0 when all are distinct, near 1 for one character over and
 * over. Counted by a suffix automaton, in time linear in the text.
 */
export function repetition(text: string): number {
  const length = text.length;
  if (length < 2) return 0;
  /** Per state: length of its longest text, state of its longest proper suffix elsewhere, next state by character. */
  const longest = [0];
  const link = [-1];
  const next: Map<string, number>[] = [new Map()];
  let last = 0;
  let distinct = 0;
  for (const char of text.split('')) {
    const current = longest.push(longest[last]! + 1) - 1;
    next.push(new Map());
    link.push(0);
    let state = last;
    for (; state >= 0 && !next[state]!.has(char); state = link[state]!) next[state]!.set(char, current);
    if (state >= 0) {
      const target = next[state]!.get(char)!;
      if (longest[target] === longest[state]! + 1) link[current] = target;
      else {
        const copy = longest.push(longest[state]! + 1) - 1;
        next.push(new Map(next[target]));
        link.push(link[target]!);
        link[target] = copy;
        link[current] = copy;
        for (; state >= 0 && next[state]!.get(char) === target; state = link[state]!)
          next[state]!.set(char, copy);
      }
    }
    distinct += longest[current]! - longest[link[current]!]!;
    last = current;
  }
  return 1 - distinct / ((length * (length + 1)) / 2);
}
