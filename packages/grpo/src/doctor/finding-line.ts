import type { Finding } from './finding.js';
import type { Evidence } from './outcome.js';
import { checkOf } from './registry.js';

/** Names the place of evidence within its step, down to the token: `prompt 1`, `completion 3`, `token 21`. */
export const placeInStep = ({ prompt, completion, token }: Evidence, name?: string): string[] => [
  ...(prompt === undefined ? [] : [`prompt ${prompt}`]),
  ...(completion === undefined ? [] : [`completion ${name ?? completion}`]),
  ...(token === undefined ? [] : [`token ${token}`]),
];

/** A finding in a line, with the one that brings it about, and the first place where it shows. */
export function findingLine({
  code,
  severity,
  inducedBy,
  measured,
  evidence: [first] = [],
}: Pick<Finding, 'code' | 'severity' | 'inducedBy' | 'measured'> &
  Partial<Pick<Finding, 'evidence'>>): string {
  const follows = inducedBy
    ? `, which ${inducedBy.sure ? 'follows' : 'may follow'} from ${inducedBy.code}`
    : '';
  const where = first ? placeInStep(first).join(', ') : '';
  return `${code} ${severity}${where && ` (${where})`}${follows}: ${checkOf(code).says(measured)}`;
}
