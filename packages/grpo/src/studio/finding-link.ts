import type { Finding } from '../doctor/finding.js';
import type { Evidence } from '../doctor/outcome.js';
import { checkOf } from '../doctor/registry.js';
import { labelOf, place, says } from '../view/report/examined.js';
import type { FindingLink } from './requests.js';

type Place = FindingLink['places'][number];

/** As many steps of a finding without evidence are linked. */
const MOST_STEPS = 8;

/**
 * A finding with the places that it cites; without evidence its steps, or the metrics that its check looked at.
 *
 * @param metrics - names of the metrics that the log has
 * @param nameOf - the name of a completion: `1.2`
 */
export function linkOf(
  finding: Finding,
  metrics: ReadonlySet<string> = new Set(),
  nameOf: (one: Evidence) => string | undefined = () => undefined,
): FindingLink {
  const { evidence, steps, code } = finding;
  const { scope, needs } = checkOf(code);
  const cited = evidence.map(
    (one): Place => ({ text: place(one, nameOf(one)), ...targetOf(finding, one, metrics) }),
  );
  const seen = steps.slice(0, MOST_STEPS).map((step): Place => ({ text: `step ${step}`, step }));
  const asked = scope === 'log' ? needs.filter((name) => metrics.has(name)) : [];
  const places = [cited, seen, asked.map((metric): Place => ({ text: metric, metric }))];
  return {
    finding,
    label: labelOf(finding),
    says: says(finding),
    places: places.find((some) => some.length > 0) ?? [],
  };
}

/** Where the page shows it: a log's evidence is a metric at a step, of which there may be no record. */
function targetOf(
  { code }: Finding,
  { step, completion, token, text, values = {} }: Evidence,
  metrics: ReadonlySet<string>,
): Omit<Place, 'text'> {
  const at = step === undefined ? {} : { step };
  const { scope, needs } = checkOf(code);
  if (scope !== 'log')
    return { ...at, ...(completion !== undefined && { completion }), ...(token !== undefined && { token }) };
  // The text names a metric or a reward, the values may be several metrics by name.
  const named = text === undefined ? [] : [text, `rewards/${text}/mean`];
  const metric = [...named, ...Object.keys(values), ...needs].find((name) => metrics.has(name));
  return { ...at, ...(metric !== undefined && { metric }) };
}
