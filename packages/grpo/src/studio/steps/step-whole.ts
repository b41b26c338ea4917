import type { Finding } from '../../doctor/finding.js';
import type { Evidence } from '../../doctor/outcome.js';
import { type StepView, viewOf } from '../../view/step-view.js';
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
  return { view, links: (verdict?.findings ?? []).map((finding) => linkInside(finding, view)) };
}

/** Inside its step a place does not repeat the number of the step. */
function linkInside(finding: Finding, { completions }: StepView): FindingLink {
  const evidence = finding.evidence.map(({ step: _, ...one }) => one);
  const nameOf = ({ completion }: Evidence) => completions[completion ?? -1]?.name;
  return { ...linkOf({ ...finding, evidence, steps: [] }, undefined, nameOf), finding };
}
