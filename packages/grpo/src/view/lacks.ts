/** Reasons why checks of a step were not made, grouped by the part of the record that is missing. */
import type { Check } from '../doctor/check.js';
import type { Judgement } from '../doctor/examine.js';
import { inputs } from '../doctor/inputs.js';

/** Checks that were not made for one kind of reason. */
export interface Lack {
  /** A part of the record, such as `probes`; `log`; or `case` for a step that has nothing of the kind to judge. */
  of: string;
  checks: number;
  /** The single reasons, the most frequent first. */
  reasons: readonly string[];
}

const PARTS = new Set(Object.values(inputs).map(({ path }) => path.split('.')[0]!));

/** The most frequent first, and last the cases that the step does not have. */
export function lacksOf(
  judgements: readonly Judgement[],
  checks: readonly Pick<Check, 'code' | 'scope'>[],
): Lack[] {
  const scopes = new Map(checks.map(({ code, scope }) => [code, scope]));
  const groups = new Map<string, { checks: number; reasons: Map<string, number> }>();
  for (const { code, judged, missing } of judgements) {
    if (judged > 0) continue;
    // Each check counts once, by the first input that it lacks.
    const [reason] = scopes.get(code) === 'log' ? ['log'] : missing;
    const of = reason === 'log' ? 'log' : partOf(reason!);
    const group = groups.get(of) ?? { checks: 0, reasons: new Map<string, number>() };
    group.checks++;
    group.reasons.set(reason!, (group.reasons.get(reason!) ?? 0) + 1);
    groups.set(of, group);
  }
  const lacks = [...groups].map(([of, { checks, reasons }]): Lack => {
    const sorted = [...reasons].sort((a, b) => b[1] - a[1]);
    return { of, checks, reasons: sorted.map(([reason]) => reason) };
  });
  return lacks.sort((a, b) => Number(a.of === CASE) - Number(b.of === CASE) || b.checks - a.checks);
}

const CASE = 'case';

/** The part of the record that a reason names, such as `probes` of `probes.canaries with known right values`. */
function partOf(reason: string): string {
  const [word] = reason.split(/[^a-zA-Z]/, 1);
  return PARTS.has(word!) && /^\w+([.:]|$)/.test(reason) ? word! : CASE;
}
