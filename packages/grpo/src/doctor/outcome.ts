/** What a test says: data only. The check puts it into words. */

/** Numbers and short texts by name. */
export type Measurements = Readonly<Record<string, number | string | boolean>>;

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
  values?: Measurements;
}

/** Evidence that has values of these names. */
export type EvidenceOf<V extends Measurements> = Evidence & { values: V };

export interface Passed {
  verdict: 'pass';
  measured: Measurements;
}

export interface NotApplicable {
  verdict: 'not applicable';
  missing: readonly string[];
}

/** Something does not hold. */
export interface Found<M extends Measurements = Measurements> {
  verdict: 'fail' | 'warn' | 'inform';
  measured: M;
  evidence: readonly Evidence[];
}

/** `M`: what a finding has measured, and its sentence is made of. */
export type Outcome<M extends Measurements = Measurements> = Passed | NotApplicable | Found<M>;

/** As much evidence of one finding as is kept. */
const MOST_EVIDENCE = 5;

export const pass = (measured: Measurements = {}): Passed => ({ verdict: 'pass', measured });

/** There is nothing to judge here, and why: not a pass. */
export const notApplicable = (...missing: string[]): NotApplicable => ({
  verdict: 'not applicable',
  missing,
});

const found =
  (verdict: Found['verdict']) =>
  <M extends Measurements>(measured: M, evidence: readonly Evidence[] = []): Found<M> => ({
    verdict,
    measured,
    evidence: evidence.slice(0, MOST_EVIDENCE),
  });

export const fail = found('fail');
export const warn = found('warn');
export const inform = found('inform');

/** At most 60 characters of a text, for evidence. */
export function shorten(text: string): string {
  const characters = Array.from(text.slice(0, 130));
  return characters.length > 60 || text.length > 130 ? `${characters.slice(0, 60).join('')}…` : text;
}
