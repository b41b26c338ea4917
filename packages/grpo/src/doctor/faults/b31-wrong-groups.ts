import { logCheck, stepCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { groupsOf } from '../groups.js';
import { keysOf } from '../inputs.js';
import { fromTheStart } from '../log-view.js';
import { explanationOf } from '../measures/advantages.js';
import { loggedSpread } from '../measures/logged-advantages.js';
import { fail, notApplicable, pass, warn } from '../outcome.js';
import { percent, say } from '../sentence.js';

export const b31: Fault = {
  code: 'B31',
  name: 'wrong groups',
  title: 'Completions are grouped wrongly',
  checks: [
    stepCheck({
      code: 'B31.grouping',
      title: 'A completion is compared with completions of its own prompt',
      stage: 'advantage',
      level: 5,
      rank: 1,
      threshold: 'reported when the advantages fit only groups of every n-th completion',
      sources: [
        'huggingface/trl#3181',
        'huggingface/trl#3098',
        'dllm-reasoning/d1#19',
        'PeterGriffinJin/Search-R1#88',
      ],
      remedy: 'Keep one order, [p1, p1, p2, p2], from sampling to the advantages.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B33', 'B34', 'B32', 'H04'],
      proofs: ['native'],
      needs: ['totals', 'advantages', 'promptOf', 'declared'],
      test(given, record) {
        if (groupsOf(given.promptOf).length < 2) return notApplicable('two prompts in a step');
        const explanation = explanationOf(record);
        const { kind } = explanation;
        if (kind === 'lacking') return notApplicable(explanation.what);
        return kind === 'other grouping' ? fail({ fits: kind }) : pass({ fits: kind });
      },
      says: () =>
        'The advantages fit groups of every n-th completion, not groups of one prompt: completions are compared with completions of other prompts.',
    }),
    stepCheck({
      code: 'B31.size',
      title: 'A group has the declared number of completions',
      stage: 'generation',
      level: 1,
      rank: 5,
      threshold:
        'reported where groups of more are declared, there are completions for two groups or more, and every prompt has one completion and ids of its own, or prompts have unequal numbers of completions that are no whole groups',
      sources: ['huggingface/trl#3181', 'huggingface/trl#3098'],
      why: 'A trainer that takes each G completions in a row for a group compares answers to different questions. A sampler of the data that does not repeat each row brings this about, and a prompt that is drawn anew for each of its completions.',
      remedy:
        'Look at what repeats the prompts: each must be there as often as a group has completions, one after another. Rows that are made anew at each access, by a transform, differ within a group as well.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B21', 'B30', 'B33', 'B34', 'H04'],
      settles: 'The prompts of one group of completions, printed where the advantages are computed.',
      proofs: ['TRL run'],
      needs: ['promptOf', 'promptIds', 'groupSize'],
      test({ promptOf, promptIds, groupSize }) {
        const groups = groupsOf(promptOf);
        const measured = { completions: promptOf.length, prompts: groups.length, group: groupSize };
        // A loop may write down a prompt for each of its completions.
        const isSingle =
          groups.every(({ length }) => length === 1) && new Set(keysOf(promptIds)).size === promptIds.length;
        // Parts of groups, as each process has them, are of one size.
        const isMixed =
          promptOf.length % groupSize === 0 &&
          groups.some(({ length }) => length % groupSize !== 0) &&
          new Set(groups.map(({ length }) => length)).size > 1;
        return groupSize > 1 && promptOf.length >= 2 * groupSize && (isSingle || isMixed)
          ? warn(measured)
          : pass(measured);
      },
      says: (m) =>
        say`The ${m.completions} completions are of ${m.prompts} different prompts, where groups of ${m.group} are declared: answers to different questions are compared with each other.`,
    }),
    logCheck({
      code: 'B31.log',
      title: 'Groups of equal rewards narrow the advantages',
      stage: 'advantage',
      level: 5,
      rank: 4,
      threshold:
        'over 8 entries or more with a tenth of groups of equal rewards, the mean variance of the advantages is at most 1.1 × the share of the other groups, or falls with it; not of advantages with the deviation 1 throughout, which B32.log judges',
      sources: ['arXiv:2402.03300', 'huggingface/trl#3181'],
      why: 'A group of equal rewards has advantages of 0, and every other group at most the variance 1.',
      remedy:
        'Take mean and deviation over the completions of one prompt: look at the order in which prompts are repeated, and at the axis of the mean.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      settles: 'Rewards and advantages of one step, group by group: each group sums to 0.',
      proofs: ['log only'],
      needs: ['advantages/std', 'frac_reward_zero_std'],
      test(log) {
        const spread = loggedSpread(log);
        if (typeof spread === 'string') return notApplicable(spread);
        const { exceeds, isWhite, ...measured } = spread;
        return exceeds && !isWhite ? warn(measured, fromTheStart(log, 'advantages/std')) : pass(measured);
      },
      says: (m) =>
        say`The advantages have a deviation of ${m.deviation}, although ${percent(m.flat)} of the groups have equal rewards and so none: groups that are normalised one by one could have ${m.most} at most. Mean and deviation are taken over other completions than those of one prompt.`,
    }),
  ],
};
