/** Findings in the order in which a person should meet them. */
import type { Finding } from '../../doctor/finding.js';

/** How a finding stands to the one that leads. */
export type Standing =
  /** It leads: the first that fails or warns. */
  | 'cause'
  /** Another sign of the same fault. */
  | 'sign'
  /** The cause is known to bring it about. */
  | 'follows'
  /** It comes later in the order of diagnosis than the cause. */
  | 'may follow'
  /** Nothing connects it with the cause. */
  | 'besides'
  /** It only informs. */
  | 'to know';

export type ArrangedFindings = Readonly<Record<Standing, readonly Finding[]>>;

/** Sorts findings, as `examine` orders them, by their standing. */
export function arrange(findings: readonly Finding[]): ArrangedFindings {
  const [first] = findings;
  const cause = first?.severity === 'inform' ? undefined : first;
  const standingOf = (finding: Finding): Standing => {
    if (finding === cause) return 'cause';
    if (finding.fault === cause?.fault) return 'sign';
    if (finding.inducedBy?.sure) return 'follows';
    if (finding.severity === 'inform') return 'to know';
    return finding.inducedBy ? 'may follow' : 'besides';
  };
  const of = (standing: Standing) => findings.filter((finding) => standingOf(finding) === standing);
  return {
    cause: of('cause'),
    sign: of('sign'),
    follows: of('follows'),
    'may follow': of('may follow'),
    besides: of('besides'),
    'to know': of('to know'),
  };
}
