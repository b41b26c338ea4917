/** The tokens that are scored are those that were sampled, of prompt and completion. */
import { stepCheck } from '../check.js';
import { fail, pass } from '../outcome.js';

const consequence = { rerun: 'GRPO', checkpointsVoid: true } as const;

export const tokenChecks = [
  stepCheck({
    code: 'B02.prompt',
    title: 'Completions are scored after the prompt that they were sampled from',
    stage: 'tokens',
    kind: 'identity',
    level: 2,
    threshold: 'every id of every prompt equal; prompts of which nothing is scored aside',
    source: 'identity; seed 002, bug 3',
    remedy: 'Hand the sampler’s prompt ids on to the scoring; do not render or encode the prompt again.',
    consequence,
    induces: ['B19', 'B35', 'B38', 'B39', 'B49', 'B51', 'B55'],
    needs: ['promptIds', 'scoredPromptIds'],
    test({ promptIds, scoredPromptIds }, { scored, completions }) {
      const isScored = (prompt: number) =>
        completions?.prompt?.some((own, b) => own === prompt && scored?.lengths?.[b] !== 0) ?? true;
      const different = differences(promptIds, scoredPromptIds)
        .filter(({ row }) => isScored(row))
        .map(({ row, ...rest }) => ({ prompt: row, ...rest }));
      const measured = { prompts: promptIds.length, different: different.length };
      return different.length > 0 ? fail(measured, different) : pass(measured);
    },
  }),
  stepCheck({
    code: 'B07.ids',
    title: 'The completion tokens that are scored are the ones that were sampled',
    stage: 'tokens',
    kind: 'identity',
    level: 2,
    threshold:
      'every id of every completion equal; rows that are cut off or go on aside, which B37 and B14 judge, and completions that are not scored at all',
    source: 'identity; re-tokenised text gives other ids (trl#5224, verl#3720)',
    remedy: 'Keep the ids that the sampler returned and score those; do not decode and encode again.',
    consequence,
    induces: ['B08', 'B10', 'B11', 'B12', 'B14', 'B19', 'B35', 'B37', 'B38', 'B39', 'B49', 'B51', 'B55'],
    needs: ['ids', 'scoredIds'],
    test({ ids, scoredIds }) {
      const different = differences(ids, scoredIds)
        .filter(({ row, token }) => token < Math.min(ids[row]!.length, scoredIds[row]!.length))
        .map(({ row, ...rest }) => ({ completion: row, ...rest }));
      const measured = { completions: ids.length, different: different.length };
      return different.length > 0 ? fail(measured, different) : pass(measured);
    },
  }),
];

/** Rows of which some id differs, with the first place. */
function differences(sampled: readonly Int32Array[], scored: readonly Int32Array[]) {
  return sampled.flatMap((own, row) => {
    const other = scored[row]!;
    const token = firstDifference(own, other);
    if (token === undefined) return [];
    return [{ row, token, values: { sampled: own[token] ?? 'nothing', scored: other[token] ?? 'nothing' } }];
  });
}

/** The first index at which two lists differ; the shorter's length when one begins with the other. */
function firstDifference(a: ArrayLike<number>, b: ArrayLike<number>): number | undefined {
  const most = Math.max(a.length, b.length);
  for (let i = 0; i < most; i++) if (a[i] !== b[i]) return i;
  return undefined;
}
