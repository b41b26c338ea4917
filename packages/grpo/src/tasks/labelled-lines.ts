/** Completions of labelled lines: `Answer: B`, then `Justification: …`. */

/** Text behind each label, by label, '' for an optional label that is missing; or why it cannot be read. */
export type LabelledLines<L extends string> =
  | { values: Readonly<Record<L, string>>; problem: null }
  | { values: null; problem: string };

/**
 * Takes a completion of labelled lines apart. It can be read when
 * - it begins with the first label, each label begins a line, and none occurs twice;
 * - the labels stand in their order, and behind the first there is something; the others may be missing.
 *
 * Case, white space and the signs of Markdown around a label do not count. A value may have several lines.
 */
export function parseLabelled<const L extends string>(
  completion: string,
  labels: readonly [L, ...L[]],
): LabelledLines<L> {
  const refused = (problem: string): LabelledLines<L> => ({ values: null, problem });
  const found: { label: L; start: number; end: number }[] = [];
  for (const label of labels) {
    const [place, ...more] = completion.matchAll(labelPattern(label));
    if (more.length > 0) return refused(`${more.length + 1} times ${label}:`);
    if (place) found.push({ label, start: place.index, end: place.index + place[0].length });
  }
  const [first] = found;
  if (first?.label !== labels[0]) return refused(`no ${labels[0]}:`);
  if (completion.slice(0, first.start).trim() !== '') return refused(`text before ${labels[0]}:`);
  if (found.some(({ start }, i) => i > 0 && start < found[i - 1]!.end)) return refused('labels out of order');
  const values = Object.fromEntries(labels.map((label) => [label, ''])) as Record<L, string>;
  for (const [i, { label, end }] of found.entries())
    values[label] = unmarked(completion.slice(end, found[i + 1]?.start));
  return values[labels[0]] === '' ? refused(`nothing behind ${labels[0]}:`) : { values, problem: null };
}

const labelPattern = (label: string) => new RegExp(`^[ \\t>#*_-]*${label}[ \\t*_]*:[ \\t*_]*`, 'gim');

const AROUND = new Set('*_` \t\r\n');

/** Without the white space and the signs of Markdown around it; no regular expression, which would look back at each sign. */
function unmarked(text: string): string {
  let [start, end] = [0, text.length];
  while (start < end && AROUND.has(text[start]!)) start++;
  while (end > start && AROUND.has(text[end - 1]!)) end--;
  return text.slice(start, end);
}
