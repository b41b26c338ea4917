import { largest, withoutNaN } from '../../maths/moments.js';
import { median } from '../../maths/quantile.js';
import { logCheck } from '../check.js';
import { lossOf } from '../course/break.js';
import { movementOf } from '../course/movements.js';
import { ENOUGH_STEPS } from '../course/run-course.js';
import type { Fault } from '../fault.js';
import { entryAt, type LogView } from '../log-view.js';
import { inform, notApplicable, type Outcome, pass, warn } from '../outcome.js';
import { percent, say } from '../sentence.js';

/** Nats per token: of an answer of 200 tokens the probability changed by less than half. */
const AT_REST = 0.002;
/** Fewest entries in which a KL of exactly 0 shows that no weight has moved. */
const FROZEN = 10;
/** Fewest entries of a long run whose other steps are not told, and the share of the largest reward that is no rise. */
const SPARSE = { entries: 5, rise: 0.1 };

export const b62: Fault = {
  code: 'B62',
  name: 'no progress',
  title: 'The run does not move',
  checks: [
    logCheck({
      code: 'B62.still',
      title: 'Reward or policy move over the run',
      stage: 'optimizer',
      level: 6,
      rank: 13,
      threshold: `over ${ENOUGH_STEPS} steps or more, the reward rises beyond its noise, or is high from the start, or the KL passes ${AT_REST} nats per token; over ${FROZEN} entries or more, the KL is not exactly 0 in all of them, of which most have a gradient; where the log has no KL, or length, entropy or truncation moved, the check only informs`,
      sources: ['huggingface/trl#2703'],
      why: 'At 0.002 nats per token the probability of a whole answer of 200 tokens has changed by a third.',
      remedy:
        'Raise the learning rate until the KL moves within 100 steps; check that the optimizer holds the weights that the model uses, and that bfloat16 does not round the updates away.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      settles: 'Compare the weights of two checkpoints: bits that differ, and by how much.',
      proofs: ['native'],
      needs: ['reward'],
      test(log): Outcome<{
        steps: number;
        start: number;
        end: number;
        direction?: string;
        kl?: number;
        rate?: number;
      }> {
        const { course } = log;
        const reward = course.of('reward');
        const isFrozen = hasNoKl(log);
        if (!reward || !(course.isLong || isFrozen)) return notApplicable(`${ENOUGH_STEPS} steps`);
        const kl = course.of('kl');
        const rates = withoutNaN(log.column('learning_rate'));
        if (rates.length > 0 && largest(rates) === 0 && !log.isRounded('learning_rate'))
          return notApplicable('a learning rate above 0');
        const logged = withoutNaN(log.column('kl'));
        const measured = {
          steps: course.steps,
          start: reward.start,
          end: reward.end,
          ...(reward.direction && { direction: reward.direction }),
          // The logged value: the course replaces small values by its floor.
          ...(kl && { kl: median(logged.slice(-Math.ceil(logged.length / 8))) }),
          ...(rates.length > 0 && { rate: largest(rates) }),
        };
        const isStill = !course.gain && !course.collapse && !course.isHigh;
        if (!isStill || (kl && kl.end >= AT_REST)) return pass(measured);
        const evidence = [{ text: 'reward', values: { level: reward.end } }];
        const moves = (['length', 'entropy', 'cut'] as const).some((quantity) =>
          movementOf(course, quantity),
        );
        if (kl && !moves) return warn(measured, evidence);
        const { kl: _, ...others } = measured;
        return inform(others, evidence);
      },
      says: (m) =>
        say`The reward has not moved in ${m.steps} steps: ${m.start} at the start, ${m.end} at the end, ${m.direction === undefined ? 'within its noise' : say`which differ by no more than noise, though a straight line ${m.direction}`}${m.kl === undefined ? '.' : say`; the KL is ${m.kl === 0 ? 'exactly 0: no update reaches the policy, or the reference is the policy itself' : say`${m.kl} nats per token: the policy is where it began, too`}${m.rate === undefined ? '' : say`, at a learning rate of at most ${m.rate}`}.`}`,
    }),
    logCheck({
      code: 'B62.sparse',
      title: 'The reward rises between the entries of a long run',
      stage: 'optimizer',
      level: 6,
      rank: 13,
      threshold: `where ${SPARSE.entries} to ${ENOUGH_STEPS - 1} entries span ${ENOUGH_STEPS} steps or more, the last third of the rewards lies above the first third by more than ${percent(SPARSE.rise)} of the largest, or gained beyond its noise for good, or is high. It only informs: each entry may be of a single step`,
      sources: ['huggingface/trl#2703'],
      why: 'Selected lines of a run have the noise of single steps, but a run that learns in 100 steps is seldom where it began.',
      remedy:
        'Log every step. If the reward then stands still, too, look at signal, learning rate and KL, in this order.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      settles: 'The reward of every step, or the accuracy on held-out problems before and after.',
      needs: ['reward'],
      test(log): Outcome<Record<'first' | 'last' | 'start' | 'end' | 'most' | 'entries', number>> {
        const { course } = log;
        const points = course.of('reward')?.points ?? [];
        const [first, last] = [points[0]?.step ?? 0, points.at(-1)?.step ?? 0];
        if (course.isLong || points.length < SPARSE.entries || last - first < ENOUGH_STEPS)
          return notApplicable(`${SPARSE.entries} entries of ${ENOUGH_STEPS} steps`);
        const values = points.map(({ value }) => value);
        const third = Math.ceil(values.length / 3);
        const [start, end] = [median(values.slice(0, third)), median(values.slice(-third))];
        const measured = { first, last, start, end, most: Math.max(...values), entries: points.length };
        const rise = SPARSE.rise * Math.max(...values.map(Math.abs));
        const isFallen = lossOf(points, 0.5) ?? course.collapse;
        return end - start > rise ||
          course.isHigh ||
          course.lastingGain ||
          course.of('reward')?.direction === 'rises' ||
          isFallen
          ? pass(measured)
          : inform(measured, [entryAt(log, 'reward', last)]);
      },
      says: (m) =>
        say`The reward does not rise between steps ${m.first} and ${m.last}: ${m.start} in the first third of ${m.entries} entries, ${m.end} in the last, ${m.most} at most.`,
    }),
  ],
};

/** Whether no update has moved the policy: the KL is 0 to the bit at every entry, though most have a gradient. */
function hasNoKl(log: LogView): boolean {
  const kl = withoutNaN(log.column('kl'));
  const learning = withoutNaN(log.column('grad_norm')).filter((norm) => norm > 0);
  // Clipped tokens show that the policy moved, and the reference with it.
  if (withoutNaN(log.column('clip_ratio/region_mean')).some((share) => share > 0)) return false;
  return (
    kl.length >= FROZEN &&
    kl.every((value) => value === 0) &&
    !log.isRounded('kl') &&
    learning.length > kl.length / 2
  );
}
