import type { RowProblem } from '../../../tasks/jsonl/row.js';

/** Kinds of problems with rows, in the order of the report. */
export type FindingKind = RowProblem['kind'] | 'no tokens' | 'duplicate' | 'leaked' | 'overlap' | 'too long';

/** Rows of a file with something wrong. */
export interface Finding {
  kind: FindingKind;
  /** How many rows. */
  rows: number;
  /** The first of them, in words. */
  first: { line: number; text: string }[];
}

const SHOWN = 3;

/** Counts rows by their problem. */
export class Findings {
  readonly #byKind = new Map<FindingKind, Finding>();

  /** @param text - of the first rows only it is asked for */
  add(kind: FindingKind, line: number, text: () => string): void {
    const finding = this.#byKind.get(kind) ?? { kind, rows: 0, first: [] };
    this.#byKind.set(kind, finding);
    finding.rows++;
    if (finding.first.length < SHOWN) finding.first.push({ line, text: text() });
  }

  all(): Finding[] {
    return [...this.#byKind.values()];
  }
}
