import type { Finding } from './finding.js';
import { checkOf } from './registry.js';

/** A finding in a line, with the one that brings it about. */
export function findingLine({
  code,
  severity,
  inducedBy,
  measured,
}: Pick<Finding, 'code' | 'severity' | 'inducedBy' | 'measured'>): string {
  const follows = inducedBy
    ? `, which ${inducedBy.sure ? 'follows' : 'may follow'} from ${inducedBy.code}`
    : '';
  return `${code} ${severity}${follows}: ${checkOf(code).says(measured)}`;
}
