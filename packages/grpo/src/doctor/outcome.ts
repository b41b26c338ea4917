/** What a test says: data only. Words are made of it in `words/`. */

/** Numbers and short texts by name. */
export type Measured = Readonly<Record<string, number | string | boolean>>;

/** Where it was seen: as far down as can be told. */
export interface Evidence {
  step?: number;
  /** Indices within the step. */
  prompt?: number;
  completion?: number;
  /** Index within the completion. */
  token?: number;
  /** The text, shortened, or the metric's name. */
  text?: string;
  values?: Measured;
}

export type Outcome =
  | { verdict: 'pass'; measured: Measured }
  | { verdict: 'not applicable'; missing: readonly string[] }
  | { verdict: 'fail' | 'warn' | 'inform'; measured: Measured; evidence: readonly Evidence[] };

/** As much evidence of one finding as is kept. */
const MOST_EVIDENCE = 5;

export const pass = (measured: Measured = {}): Outcome => ({ verdict: 'pass', measured });

/** There is nothing to judge here, and why: not a pass. */
export const notApplicable = (...missing: string[]): Outcome => ({ verdict: 'not applicable', missing });

export const fail = (measured: Measured, evidence: readonly Evidence[] = []): Outcome => ({
  verdict: 'fail',
  measured,
  evidence: evidence.slice(0, MOST_EVIDENCE),
});

export const warn = (measured: Measured, evidence: readonly Evidence[] = []): Outcome => ({
  verdict: 'warn',
  measured,
  evidence: evidence.slice(0, MOST_EVIDENCE),
});

export const inform = (measured: Measured, evidence: readonly Evidence[] = []): Outcome => ({
  verdict: 'inform',
  measured,
  evidence: evidence.slice(0, MOST_EVIDENCE),
});

/** At most 60 characters of a text, for evidence. */
export function shorten(text: string): string {
  const characters = Array.from(text.slice(0, 130));
  return characters.length > 60 || text.length > 130 ? `${characters.slice(0, 60).join('')}…` : text;
}
