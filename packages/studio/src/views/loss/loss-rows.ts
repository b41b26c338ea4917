/** The sum that is the loss as rows: groups, the completions of open groups, the tokens of the open completion. */
import type { LossAnswer, TokenLosses } from 'grpo/studio';

/** Share of the loss, by parts. */
export interface Parts {
  policy: number;
  kl: number;
  entropy: number;
}

export interface LossRow {
  kind: 'group' | 'completion' | 'token';
  /** Prompt, completion or token. */
  index: number;
  name: string;
  parts: Parts;
  value: number;
  /** The value with other settings. */
  hypothetical: number | undefined;
  /** From the recorded value to the hypothetical one; 0 where they differ by rounding. */
  difference: number | undefined;
  /** Share of the sum of sizes of its level. */
  share: number;
  /** Relative to the largest of its level, with a sign. */
  bar: number;
}

export interface Opened {
  groups: ReadonlySet<number>;
  completion: number | undefined;
}

/** `g2,g3,c17`: groups that are open, and a completion. */
export function openedOf(text: string | undefined): Opened {
  const all = text?.split(',') ?? [];
  const numbers = (kind: string) =>
    all.flatMap((one) => (one[0] === kind && /^.\d+$/.test(one) ? [Number(one.slice(1))] : []));
  return { groups: new Set(numbers('g')), completion: numbers('c').at(-1) };
}

export const openedText = ({ groups, completion }: Opened): string =>
  [...[...groups].map((g) => `g${g}`), ...(completion === undefined ? [] : [`c${completion}`])].join(',');

type Group = LossAnswer['groups'][number];
type Completion = Group['completions'][number];

const partsOf = ({ policy, kl, entropy = 0 }: Completion): Parts => ({ policy, kl, entropy });
const lossOf = ({ policy, kl, entropy = 0 }: Completion): number => policy + kl + entropy;

const added = (parts: readonly Parts[]): Parts => ({
  policy: parts.reduce((sum, { policy }) => sum + policy, 0),
  kl: parts.reduce((sum, { kl }) => sum + kl, 0),
  entropy: parts.reduce((sum, { entropy }) => sum + entropy, 0),
});

interface Level {
  sum: number;
  most: number;
}

/** Sizes of a level: their sum, and the largest. NaN and infinities are left out. */
function levelOf(values: readonly number[]): Level {
  const sizes = values.map(Math.abs).filter(Number.isFinite);
  return {
    sum: sizes.reduce((sum, size) => sum + size, 0),
    most: sizes.reduce((most, size) => Math.max(most, size), 0),
  };
}

const placed = (value: number, { sum, most }: Level) => ({
  value,
  share: sum > 0 ? Math.abs(value) / sum : 0,
  bar: most > 0 ? value / most : 0,
});

/** Relative to the largest of a level: recorded terms are float32, which hold no more. */
const FLOAT32_ROUNDING = 2 ** -22;

function compared(value: number, hypothetical: number | undefined, { most }: Level) {
  if (hypothetical === undefined) return { hypothetical, difference: undefined };
  const difference = hypothetical - value;
  return { hypothetical, difference: Math.abs(difference) <= FLOAT32_ROUNDING * most ? 0 : difference };
}

/** NaN comes first, where it is seen. */
const sizeOf = ({ value }: LossRow): number => (Number.isNaN(value) ? Infinity : Math.abs(value));
const bySize = (a: LossRow, b: LossRow) => Number(sizeOf(b) > sizeOf(a)) - Number(sizeOf(b) < sizeOf(a));

/**
 * @param hypothetical - the same groups with other settings
 * @param tokens - of the open completion
 * @param nameOf - the words of a token
 * @param isBySize - the largest first, or in the order of the step
 */
export function lossRows(
  groups: LossAnswer['groups'],
  hypothetical: LossAnswer['groups'] | undefined,
  opened: Opened,
  tokens: TokenLosses | undefined,
  nameOf: (token: number) => string,
  isBySize: boolean,
): LossRow[] {
  const sorted = (rows: LossRow[]) => (isBySize ? rows.toSorted(bySize) : rows);
  const ofGroups = levelOf(groups.map(({ value }) => value));
  const ofCompletions = levelOf(groups.flatMap(({ completions }) => completions.map(lossOf)));
  const others = new Map(hypothetical?.map((group) => [group.prompt, group]));
  const otherCompletions = new Map(
    hypothetical?.flatMap((group) => group.completions.map((one) => [one.index, lossOf(one)] as const)),
  );
  const byPrompt = new Map(groups.map((group) => [group.prompt, group]));
  const groupRows = groups.map(
    (group): LossRow => ({
      kind: 'group',
      index: group.prompt,
      name: `prompt ${group.prompt}`,
      parts: added(group.completions.map(partsOf)),
      // The completions of a group nearly cancel: its own value is no measure of their rounding.
      ...compared(group.value, others.get(group.prompt)?.value, ofCompletions),
      ...placed(group.value, ofGroups),
    }),
  );
  return sorted(groupRows).flatMap((row) => {
    if (!opened.groups.has(row.index)) return [row];
    const completionRows = byPrompt.get(row.index)!.completions.map(
      (one): LossRow => ({
        kind: 'completion',
        index: one.index,
        name: one.name,
        parts: partsOf(one),
        ...compared(lossOf(one), otherCompletions.get(one.index), ofCompletions),
        ...placed(lossOf(one), ofCompletions),
      }),
    );
    return [
      row,
      ...sorted(completionRows).flatMap((own) =>
        own.index === opened.completion && tokens ? [own, ...sorted(tokenRows(tokens, nameOf))] : [own],
      ),
    ];
  });
}

type Columns = Pick<TokenLosses, 'policy' | 'kl' | 'entropy'>;

const countOf = ({ policy, kl, entropy }: Columns): number => (policy ?? kl ?? entropy)?.length ?? 0;

const partsAt = ({ policy, kl, entropy }: Columns, token: number): Parts => ({
  policy: policy?.[token] ?? 0,
  kl: kl?.[token] ?? 0,
  entropy: entropy?.[token] ?? 0,
});

const sumOf = ({ policy, kl, entropy }: Parts): number => policy + kl + entropy;

function tokenRows(tokens: TokenLosses, nameOf: (token: number) => string): LossRow[] {
  const all = Array.from({ length: countOf(tokens) }, (_, token) => partsAt(tokens, token));
  const level = levelOf(all.map(sumOf));
  return all.map((parts, token) => ({
    kind: 'token',
    index: token,
    name: nameOf(token),
    parts,
    ...compared(sumOf(parts), tokens.hypothetical && sumOf(partsAt(tokens.hypothetical, token)), level),
    ...placed(sumOf(parts), level),
  }));
}

/** Whether a difference to the loss is rounding: its terms are float32. */
export function isRounding(difference: number, groups: LossAnswer['groups']): boolean {
  const { sum } = levelOf(groups.flatMap(({ completions }) => completions.map(lossOf)));
  return Math.abs(difference) <= ROUNDING * sum;
}

/** Share of the sum of sizes. */
const ROUNDING = 1e-5;
