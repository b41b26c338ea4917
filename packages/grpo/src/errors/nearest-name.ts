/** Levenshtein distance: insertions, deletions and replacements that turn `a` into `b`. */
export function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
  }
  return row[b.length]!;
}

/**
 * The known name closest to what was written, or undefined when none is known. Case, `_` and `-` do not count.
 * A name without its section is compared with last parts too: `grup` finds `rollout.group`.
 */
export function nearestName(written: string, known: readonly string[]): string | undefined {
  const plain = (name: string) => name.toLowerCase().replace(/[_-]/g, '');
  const lastPart = (name: string) => name.slice(name.lastIndexOf('.') + 1);
  let best: string | undefined;
  let bestDistance = Number.POSITIVE_INFINITY;
  for (const name of known) {
    const whole = editDistance(plain(written), plain(name));
    // A wrong section costs half a letter, so that an equal match in the right section wins.
    const last = editDistance(plain(lastPart(written)), plain(lastPart(name))) + 0.5;
    const distance = Math.min(whole, last);
    if (distance < bestDistance) [best, bestDistance] = [name, distance];
  }
  return best;
}
