import type { Finding } from '../../doctor/finding.js';
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

/** Inside its step the number of the step says nothing, and completions have their names there: `completion 2.5`. */
function linkInside(finding: Finding, { completions }: StepView): FindingLink {
  const evidence = finding.evidence.map(({ step: _, ...one }) => one);
  const { places, ...link } = linkOf({ ...finding, evidence, steps: [] });
  const named = places.map(({ text, ...at }) => {
    const name = at.completion === undefined ? undefined : completions[at.completion]?.name;
    return { ...at, text: name === undefined ? text : text.replace(/completion \d+/, `completion ${name}`) };
  });
  return { ...link, finding, places: named };
}
