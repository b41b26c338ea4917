import { sum } from '../../maths/moments.js';
import { viewOf } from '../../view/step-view.js';
import type { OpenRuns } from '../open-runs.js';
import type { Requests, StepAnswer } from '../requests.js';
import { listOf } from './step-records.js';

/** A step from its small arrays, so that a large one is there at once. */
export async function step(runs: OpenRuns, at: Requests['step']['input']): Promise<StepAnswer> {
  const { record } = await listOf(runs, at);
  const { verdicts: _, ...view } = viewOf(record, []);
  const { names = [], parts = [], rules = [], failures = [] } = record.rewards ?? {};
  const replayed = record.prompts?.replayed;
  return {
    step: record.step,
    isWhole: record.updates !== undefined,
    view,
    parts,
    rules: rules.map((own, k) => ({ reward: names[k] ?? '', rules: own })),
    failures,
    shared: Int32Array.from(view.prompts, ({ index }) =>
      sharedLength(view.completions.flatMap(({ prompt, text }) => (prompt === index ? [text ?? ''] : []))),
    ),
    ...(replayed && sum(replayed) > 0 && { replayed }),
  };
}

/** Characters that all texts begin with; half of a surrogate pair is none. */
function sharedLength(texts: readonly string[]): number {
  const [first = '', ...others] = texts;
  let length = first.length;
  for (const text of others) {
    let same = 0;
    while (same < length && same < text.length && text.charCodeAt(same) === first.charCodeAt(same)) same++;
    length = same;
  }
  return /[\uD800-\uDBFF]/.test(first.charAt(length - 1)) ? length - 1 : length;
}
