import { mean, withoutNaN } from '../../maths/moments.js';
import { logCheck, stepCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { groupsOf } from '../groups.js';
import { type Evidence, notApplicable, pass, warn } from '../outcome.js';
import { say } from '../sentence.js';

/** Fewest entries for a meaningful mean. */
const ENOUGH = 5;

export const b24: Fault = {
  code: 'B24',
  name: 'mixed judges',
  title: 'Judges of different scales grade one group',
  checks: [
    stepCheck({
      code: 'B24.provider',
      title: 'One judge grades all completions of a prompt',
      stage: 'reward',
      level: 4,
      rank: 1,
      threshold: 'one provider per group; several providers may still serve one model',
      why: 'Seen in a run in which the provider of a row decided the sign of its advantage.',
      remedy: 'Choose the judge per prompt. When it fails, grade the whole group again with another judge.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B21', 'B33'],
      settles: 'Grade the same completions with each judge: equal means and spreads show one scale.',
      proofs: ['native'],
      needs: ['rewards', 'promptOf'],
      test({ rewards: { providers }, promptOf }) {
        if (!providers) return notApplicable('rewards.providers');
        const mixed = groupsOf(promptOf).flatMap((group): Evidence[] => {
          const names = new Set(group.map((b) => providers[b]!));
          return names.size > 1 ? [{ prompt: promptOf[group[0]!]!, text: [...names].join(', ') }] : [];
        });
        const measured = { providers: new Set(providers).size, mixed: mixed.length };
        return mixed.length > 0 ? warn(measured, mixed) : pass(measured);
      },
      says: (m) =>
        say`Several judges graded the completions of one prompt in ${m.mixed} groups: the choice of judge decides the sign of the advantage.`,
    }),
    logCheck({
      code: 'B24.signal',
      title: 'All kinds of problems have similar advantages',
      stage: 'advantage',
      level: 5,
      rank: 4,
      threshold: `mean |advantage| of each kind within 3 times that of the others, over ${ENOUGH} entries or more`,
      why: 'Seen in a run with two kinds of problems, which itself counted a ratio above 3 as imbalance.',
      remedy:
        'For the weak kind, use problems of medium difficulty, a reward with more levels, or a larger share of its problems. A factor on its reward has no effect where advantages are divided by the standard deviation of the group.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      settles:
        'The share of groups with equal rewards per kind: a kind that is learnt, or too hard, gives no advantages.',
      needs: [],
      test(log) {
        const signals = log
          .names(/^signal\//)
          .map((name) => ({ kind: name.slice('signal/'.length), values: withoutNaN(log.column(name)) }))
          .filter(({ values }) => values.length >= ENOUGH)
          .map(({ kind, values }) => ({ kind, signal: mean(values) }))
          .sort((a, b) => a.signal - b.signal);
        if (signals.length < 2) return notApplicable(`signal/KIND of two kinds, ${ENOUGH} entries of each`);
        const [weak, strong] = [signals[0]!, signals.at(-1)!];
        const measured = { weak: weak.kind, least: weak.signal, strong: strong.kind, most: strong.signal };
        return strong.signal > 3 * weak.signal ? warn(measured) : pass(measured);
      },
      says: (m) =>
        say`The mean |advantage| of problems of kind ${m.strong} is ${m.most}, and of kind ${m.weak} ${m.least}: the run learns the first kind and hardly the second.`,
    }),
  ],
};
