import { isFlat, withoutNaN } from '../../maths/moments.js';
import { logCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { at, rewardNames } from '../log-view.js';
import { type Evidence, inform, notApplicable, pass, warn } from '../outcome.js';
import { say } from '../sentence.js';

/** Names of penalties, which are 0 where there is nothing to penalise. */
const PENALTY = /penal|punish|overlong|repeti|length/i;
/** Fewest steps for which a constant metric is evidence. */
const LONG = 20;

export const b28: Fault = {
  code: 'B28',
  name: 'dead reward',
  title: 'A reward can never be earned',
  checks: [
    logCheck({
      code: 'B28.log',
      title: 'Every reward with a weight pays at some time',
      stage: 'reward',
      kind: 'heuristic',
      level: 4,
      rank: 4,
      threshold: `no reward is one value of 0 or less, with deviation 0, in every entry of ${LONG} steps or more; a penalty of 0 is healthy. Only informs in a run that learns`,
      sources: ['huggingface/open-r1#560', 'huggingface/open-r1#489'],
      why: 'A format that no completion can match pays nothing in any step. Twenty steps are hundreds of completions.',
      remedy: 'Test the function on a text that should earn it: a pattern that cannot match never pays.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      settles: 'Grade a gold completion with this reward.',
      proofs: ['native'],
      needs: ['reward'],
      test(log) {
        const names = rewardNames(log);
        if (names.length === 0) return notApplicable('rewards/NAME/mean');
        const judged = names.filter((name) => log.stepsWith(`rewards/${name}/mean`) >= LONG);
        if (judged.length === 0) return notApplicable(`${LONG} steps`);
        const dead = judged.flatMap((name): Evidence[] => {
          const means = log.column(`rewards/${name}/mean`);
          const values = withoutNaN(means);
          const [first] = values as [number];
          // A reward that every completion earns is done, not dead.
          const nothing = PENALTY.test(name) ? first < 0 : first <= 0;
          const isDead =
            nothing &&
            isFlat(values) &&
            withoutNaN(log.column(`rewards/${name}/std`)).every((std) => std === 0);
          return isDead ? [at(log, means.indexOf(first), name, first)] : [];
        });
        const measured = {
          rewards: names.length,
          dead: dead.length,
          steps: log.stepsWith('reward'),
          learns: log.course.learnt,
          names: dead.map(({ text }) => text!).join(', '),
        };
        if (dead.length === 0) return pass(measured);
        return measured.learns ? inform(measured, dead) : warn(measured, dead);
      },
      says: (m) =>
        say`${m.dead} of ${m.rewards} rewards never pay in ${m.steps} steps: ${m.names}. ${m.dead === m.rewards && !m.learns ? 'Nothing is rewarded.' : 'Only the others train.'}`,
    }),
  ],
};
