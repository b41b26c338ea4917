import type { Finding } from '../../doctor/finding.js';
import { viewOf } from '../../view/step-view.js';
import { linkOf } from '../finding-link.js';
import type { OpenRuns } from '../open-runs.js';
import type { FindingLink, Requests } from '../requests.js';
import { recordOf } from './step-records.js';

/** The sums over all tokens of a step, and what the doctor says of it. */
export async function stepWhole(
  runs: OpenRuns,
  at: Requests['stepWhole']['input'],
): Promise<Requests['stepWhole']['output']> {
  const view = viewOf(await recordOf(runs, at));
  const verdict = view.verdicts.find(({ phase }) => phase === 'verdict');
  return { view, links: (verdict?.findings ?? []).map(linkInside) };
}

/** Inside its step, the number of the step says nothing. */
function linkInside(finding: Finding): FindingLink {
  const evidence = finding.evidence.map(({ step: _, ...one }) => one);
  return { ...linkOf({ ...finding, evidence, steps: [] }), finding };
}
