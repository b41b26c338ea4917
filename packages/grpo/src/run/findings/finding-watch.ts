import type { Check } from '../../doctor/check.js';
import type { Finding, Severity } from '../../doctor/finding.js';

/** Steps after which a finding that was not made again has ended: many come and go from one step to the next. */
export const QUIET = 8;

/** A finding as it was made on a step. */
export type Seen = Pick<Finding, 'code' | 'severity'>;

/** A stretch of steps on which a finding was made, with gaps that are shorter than {@link QUIET}. */
interface Spell {
  code: Check['code'];
  severity: Severity;
  first: number;
  last: number;
  steps: number;
}

/** How a step's findings differ from what is known. */
export interface FindingNews<F extends Seen> {
  begun: F[];
  /** Findings that were made with this severity on the step before, too. */
  again: ReadonlySet<F>;
  /** Findings of another severity than last time. */
  changed: { finding: F; before: Severity }[];
  ended: Readonly<Spell>[];
}

/** Follows the findings of a run from step to step. */
export class FindingWatch {
  readonly #spells = new Map<Check['code'], Spell>();

  /** Takes the findings of the next step. */
  see<F extends Seen>(step: number, findings: readonly F[]): FindingNews<F> {
    const again = new Set<F>();
    const news: FindingNews<F> = { begun: [], again, changed: [], ended: [] };
    for (const finding of findings) {
      const { code, severity } = finding;
      const spell = this.#spells.get(code);
      if (!spell) {
        news.begun.push(finding);
        this.#spells.set(code, { code, severity, first: step, last: step, steps: 1 });
        continue;
      }
      if (spell.severity !== severity) news.changed.push({ finding, before: spell.severity });
      else if (spell.last === step - 1) again.add(finding);
      Object.assign(spell, { severity, last: step, steps: spell.steps + 1 });
    }
    for (const spell of this.#spells.values()) {
      if (step - spell.last < QUIET) continue;
      this.#spells.delete(spell.code);
      news.ended.push(spell);
    }
    return news;
  }
}
