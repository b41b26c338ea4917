import type { Finding } from '../doctor/finding.js';
import type { Evidence } from '../doctor/outcome.js';
import { checkOf } from '../doctor/registry.js';
import { labelOf, place, says } from '../view/report/examined.js';
import type { FindingLink } from './requests.js';

/** A finding with the places that it cites. */
export const linkOf = (finding: Finding): FindingLink => ({
  finding,
  label: labelOf(finding),
  says: says(finding),
  places: finding.evidence.map((evidence) => ({ text: place(evidence), ...targetOf(finding, evidence) })),
});

/** Where the page shows it: a log's evidence is a metric at a step, of which there may be no record. */
function targetOf(
  { code }: Finding,
  { step, completion, token, text }: Evidence,
): Omit<FindingLink['places'][number], 'text'> {
  const { scope, needs } = checkOf(code);
  const metric = scope === 'log' ? (text ?? needs[0]) : undefined;
  return {
    ...(step !== undefined && { step }),
    ...(scope !== 'log' && completion !== undefined && { completion }),
    ...(scope !== 'log' && token !== undefined && { token }),
    ...(metric !== undefined && { metric }),
  };
}
