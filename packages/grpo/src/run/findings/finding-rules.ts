import type { Config } from '../../config/schema.js';
import type { Finding } from '../../doctor/finding.js';

/** Steps of a run that are always recorded, and in which what fails stops it unless `doctor.onFinding` says otherwise. */
export const STRICT_STEPS = 2;

type FindingRule = Exclude<Config['doctor']['onFinding'], string>[number];

const NAMED: Record<Extract<Config['doctor']['onFinding'], string>, readonly FindingRule[]> = {
  warn: [
    { finding: 'audit', from: 1, do: 'stop' },
    { finding: 'fail', from: 1, to: STRICT_STEPS, do: 'stop' },
  ],
  stop: [{ finding: 'fail', from: 1, do: 'stop' }],
  off: [],
};

/** The finding for which a run ends after a step, by the first rule that holds of each: without one it goes on. */
export function stopFor(
  findings: readonly Finding[],
  step: number,
  onFinding: Config['doctor']['onFinding'],
): Finding | undefined {
  const rules = typeof onFinding === 'string' ? NAMED[onFinding] : onFinding;
  const holds = (finding: Finding) => (rule: FindingRule) =>
    isOf(finding, rule.finding) && step >= rule.from && step <= (rule.to ?? step);
  return findings.find((finding) => rules.find(holds(finding))?.do === 'stop');
}

/** An audit that fails is a failure, too. */
function isOf({ code, severity }: Finding, kind: FindingRule['finding']): boolean {
  return kind === 'audit' ? severity === 'fail' && code.startsWith('H') : severity === kind;
}
