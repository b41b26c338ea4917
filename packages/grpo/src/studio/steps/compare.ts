import type { StepRecord } from '../../trace/index.js';
import { compareSteps } from '../../view/compare-steps.js';
import type { OpenRuns } from '../open-runs.js';
import type { CompareAnswer, Requests } from '../requests.js';
import { recordOf } from './step-records.js';

/** Two steps, of one run or of two: where they differ first, and the prompts that both have. */
export async function compare(
  runs: OpenRuns,
  { run, step, otherRun, otherStep }: Requests['compare']['input'],
): Promise<CompareAnswer> {
  const here = await recordOf(runs, { run, step });
  const there = await recordOf(runs, { run: otherRun, step: otherStep });
  return { comparison: compareSteps(here, there), prompts: commonPrompts(here, there) };
}

/** A text that stands several times is paired in order. */
function commonPrompts(here: StepRecord, there: StepRecord): CompareAnswer['prompts'] {
  const places = new Map<string, number[]>();
  for (const [p, text] of (there.prompts?.texts ?? []).entries())
    places.set(text, [...(places.get(text) ?? []), p]);
  return (here.prompts?.texts ?? []).flatMap((text, p) => {
    const other = places.get(text)?.shift();
    return other === undefined ? [] : [{ text, here: p, there: other }];
  });
}
