import { withoutNaN } from '../../maths/moments.js';
import { longestRun } from '../../maths/trend.js';
import { logCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { at, rewardNames } from '../log-view.js';
import { type Evidence, notApplicable, pass, warn } from '../outcome.js';
import { say } from '../sentence.js';

/** Names of penalties, which are 0 where there is nothing to penalise. */
const PENALTY = /penal|punish|overlong|repeti|length/i;
/** Fewest entries in a row for which a constant metric is evidence. */
const LONG = 20;

export const b28: Fault = {
  code: 'B28',
  name: 'dead reward',
  title: 'A reward can never be earned',
  checks: [
    logCheck({
      code: 'B28.log',
      title: 'Every reward with a weight varies',
      stage: 'reward',
      kind: 'heuristic',
      level: 4,
      rank: 4,
      threshold: `no reward keeps one value of 0 or less, with deviation 0, for ${LONG} entries in a row; a penalty of 0 is healthy`,
      sources: ['huggingface/open-r1#560', 'huggingface/open-r1#489'],
      why: 'A format that no completion can match pays nothing in any step.',
      remedy: 'Test the function on a text that should earn it: a pattern that cannot match never pays.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      settles: 'Grade a gold completion with this reward.',
      proofs: ['native'],
      needs: ['reward'],
      test(log) {
        const names = rewardNames(log);
        if (names.length === 0) return notApplicable('rewards/NAME/mean');
        const dead = names.flatMap((name): Evidence[] => {
          const means = log.column(`rewards/${name}/mean`);
          const deviations = log.column(`rewards/${name}/std`);
          const first = withoutNaN(means)[0]!;
          const { start, length } = longestRun(means, (value) => value === first);
          // A reward that every completion earns is done, not dead.
          const nothing =
            (PENALTY.test(name) ? first < 0 : first <= 0) &&
            withoutNaN(deviations).every((deviation) => deviation === 0);
          return length >= LONG && nothing
            ? [{ ...at(log, start, name, first), values: { value: first, entries: length } }]
            : [];
        });
        const measured = {
          rewards: names.length,
          dead: dead.length,
          ...(dead[0]?.text && { name: dead[0].text }),
        };
        return dead.length > 0 ? warn(measured, dead) : pass(measured);
      },
      says: (m) => say`${m.dead} of ${m.rewards} rewards never pay (${m.name}).`,
    }),
  ],
};
