import { withoutNaN } from '../../maths/moments.js';
import { median } from '../../maths/quantile.js';
import { logCheck, stepCheck } from '../check.js';
import { CUT_ENTRIES, MOSTLY_CUT } from '../course/run-course.js';
import type { Fault } from '../fault.js';
import { fromTheStart } from '../log-view.js';
import { type Evidence, inform, notApplicable, type Outcome, pass, warn } from '../outcome.js';
import { percent, say } from '../sentence.js';

/** Share of truncated completions from which many rewards grade unfinished answers. */
const CUT = 0.15;
/** Share that leaves no whole answers to grade. */
const ALL_CUT = 0.95;
/** Share of prompts at the limit above which some were probably cut. */
const AT_LIMIT = 0.01;

/** Fewest entries with one mean length, and the least length that is no short answer's. */
const [SAME, LONG] = [3, 32];

export const b09: Fault = {
  code: 'B09',
  name: 'truncation',
  title: 'Prompts or completions are truncated silently',
  checks: [
    stepCheck({
      code: 'B09.prompt',
      title: 'Prompts are not truncated at the length limit',
      stage: 'template',
      level: 1,
      rank: 1,
      threshold: `at most ${100 * AT_LIMIT} % of the prompts, or one of several, are as long as the limit`,
      sources: ['huggingface/trl#3569', 'huggingface/trl#3601', 'huggingface/trl#4358'],
      remedy:
        'Raise the limit, or leave out rows that do not fit: a truncated prompt loses its question or its header.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      settles:
        'The rendered text of such a prompt: it must begin with the first turn and end with the header.',
      needs: ['declared', 'promptIds'],
      test({ declared: { maxPromptTokens }, promptIds }) {
        if (maxPromptTokens === undefined) return notApplicable('declared.maxPromptTokens');
        const atLimit = promptIds.flatMap((ids, prompt): Evidence[] =>
          ids.length >= maxPromptTokens ? [{ prompt, values: { tokens: ids.length } }] : [],
        );
        const measured = { limit: maxPromptTokens, prompts: promptIds.length, atLimit: atLimit.length };
        // One may have that length by chance.
        const many = atLimit.length > Math.max(AT_LIMIT * promptIds.length, promptIds.length > 1 ? 1 : 0);
        return many ? warn(measured, atLimit) : pass(measured);
      },
      says: (m) =>
        say`${m.atLimit} of ${m.prompts} prompts have exactly the ${m.limit} allowed tokens: they were probably truncated.`,
    }),
    logCheck({
      code: 'B09.log',
      title: 'Few completions are truncated',
      stage: 'generation',
      level: 8,
      rank: 7,
      threshold: `the median share of truncated completions is below ${100 * CUT} %; over ${CUT_ENTRIES} entries or more B16.log judges ${100 * MOSTLY_CUT} % and above, and over fewer this one warns of ${100 * ALL_CUT} %`,
      sources: ['huggingface/trl#5697'],
      why: `Trainers disagree on how many truncated completions are too many, so the check only informs; where ${100 * ALL_CUT} % are, no answer is whole.`,
      remedy:
        'Raise max_new_tokens, ask for shorter answers, or leave truncated completions out of the loss.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      // Weights that are no numbers truncate every completion, and not the other way round.
      induces: ['B30', 'B20', 'B28', 'B45.zero-log'],
      settles: 'Compare the rewards of truncated completions with those of complete ones.',
      needs: ['completions/clipped_ratio'],
      test(log) {
        const cut = withoutNaN(log.column('completions/clipped_ratio'));
        if (cut.length === 0) return notApplicable('a share that is a number');
        const measured = { entries: cut.length, share: median(cut) };
        const isJudged = measured.share >= MOSTLY_CUT && cut.length >= CUT_ENTRIES;
        if (measured.share >= ALL_CUT && !isJudged)
          return warn(measured, fromTheStart(log, 'completions/clipped_ratio'));
        return measured.share >= CUT && !isJudged ? inform(measured) : pass(measured);
      },
      ranges: () => [{ metric: 'completions/clipped_ratio', high: CUT }],
      says: (m) =>
        `${percent(m.share)} of the completions are truncated at the length limit${m.entries > 1 ? say` in the median of ${m.entries} entries` : ''}${m.share >= ALL_CUT ? ': they do not end by themselves, so the reward grades unfinished answers' : ''}.`,
    }),
    logCheck({
      code: 'B09.length',
      title: 'The mean length of the completions changes',
      stage: 'generation',
      level: 8,
      rank: 7,
      threshold: `over ${SAME} entries or more without a share of truncated completions, the mean length is not one number of ${LONG} tokens or more. It only informs`,
      sources: ['huggingface/trl#5697'],
      why: 'A mean of lengths that differ would change from step to step: where it never does, all completions end at one length, which is a limit.',
      remedy:
        'Look at how completions end: with an end token or at max_new_tokens. Raise the limit, or ask for shorter answers.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      induces: ['B30', 'B20', 'B28'],
      settles: 'The last token of some completions.',
      needs: ['completions/mean_length'],
      test(log): Outcome<{ entries: number; length: number }> {
        const lengths = withoutNaN(log.column('completions/mean_length'));
        if (lengths.length < SAME || log.has('completions/clipped_ratio'))
          return notApplicable(`${SAME} entries without completions/clipped_ratio`);
        const measured = { entries: lengths.length, length: lengths[0]! };
        const isOne = lengths.every((length) => length === lengths[0]) && Number.isInteger(lengths[0]);
        return isOne && lengths[0]! >= LONG
          ? inform(measured, fromTheStart(log, 'completions/mean_length'))
          : pass(measured);
      },
      says: (m) =>
        say`The mean length is ${m.length} tokens in each of ${m.entries} entries: completions of different lengths would not have it, so all of them end there, most likely at the limit.`,
    }),
  ],
};
