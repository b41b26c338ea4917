import type { Config } from '../../config/schema.js';
import type { Finding } from '../../doctor/finding.js';
import { checkOf } from '../../doctor/registry.js';

/** Steps of a run that are always recorded, and in which what fails stops it unless `doctor.onFinding` says otherwise. */
export const STRICT_STEPS = 2;

type FindingRule = Exclude<Config['doctor']['onFinding'], string>[number];

/** `again` is a check of a step that failed on the step before, too: once may be chance of rounding, twice is none. */
type NamedRule = Omit<FindingRule, 'finding'> & { finding: FindingRule['finding'] | 'again' };

const NAMED: Record<Extract<Config['doctor']['onFinding'], string>, readonly NamedRule[]> = {
  warn: [
    { finding: 'audit', from: 1, do: 'stop' },
    { finding: 'fail', from: 1, to: STRICT_STEPS, do: 'stop' },
    { finding: 'again', from: 1, do: 'stop' },
  ],
  stop: [{ finding: 'fail', from: 1, do: 'stop' }],
  off: [],
};

/**
 * The finding for which a run ends after a step, by the first rule that holds of each: without one it goes on.
 *
 * @param again - those that were made on the step before, too
 */
export function stopFor(
  findings: readonly Finding[],
  step: number,
  onFinding: Config['doctor']['onFinding'],
  again: ReadonlySet<Finding> = new Set(),
): Finding | undefined {
  const rules: readonly NamedRule[] = typeof onFinding === 'string' ? NAMED[onFinding] : onFinding;
  const holds = (finding: Finding) => (rule: NamedRule) =>
    (rule.finding === 'again' ? isFailedStep(finding) && again.has(finding) : isOf(finding, rule.finding)) &&
    step >= rule.from &&
    step <= (rule.to ?? step);
  return findings.find((finding) => rules.find(holds(finding))?.do === 'stop');
}

const isFailedStep = ({ code, severity }: Finding) => severity === 'fail' && checkOf(code).scope === 'step';

/** An audit that fails is a failure, too. */
function isOf({ code, severity }: Finding, kind: FindingRule['finding']): boolean {
  return kind === 'audit' ? severity === 'fail' && code.startsWith('H') : severity === kind;
}
