import { leastSquares } from '../../maths/least-squares.js';
import { largest, mean, smallest, sum } from '../../maths/moments.js';
import { logCheck, runCheck } from '../check.js';
import { BEYOND_NOISE, MIN_ENTRIES } from '../course/run-course.js';
import type { Fault } from '../fault.js';
import { groupsOf } from '../groups.js';
import { entryAt, functionOf, rewardNames } from '../log-view.js';
import { FORM, gradesOf } from '../measures/grades.js';
import { endsIn, goldIn } from '../measures/right-answers.js';
import { fail, inform, notApplicable, type Outcome, pass, warn } from '../outcome.js';
import { percent, say } from '../sentence.js';

/** Largest difference that printing and rounding leave between a reward and the sum of its parts, as a share of the largest reward. */
const EXACT = 1e-3;

/** Groups that show an order of right and wrong answers, and right answers in them. */
const ENOUGH_GROUPS = 4;
const ENOUGH_RIGHT = 5;
/** Share of the right answers that show what weighs more. */
const OUTWEIGHED = 1 / 3;
/** Share of the batch's range of rewards below which a group's range is a trifle. */
const TRIFLE = 0.01;
/** An advantage that a right answer among wrong ones could have. */
const LARGE = 0.5;
/** Share of the groups with a signal whose differences are trifles, which is worth a word, and a warning. */
const SOME = 0.1;
const MANY = 0.25;

export const b25: Fault = {
  code: 'B25',
  name: 'reward shaping',
  title: 'Reward shaping has no effect, or works against its purpose',
  checks: [
    runCheck({
      code: 'B25.reversed',
      title: 'Right answers earn more than wrong ones',
      stage: 'reward',
      level: 4,
      rank: 8,
      threshold: `over all records, of ${ENOUGH_GROUPS} groups or more that have right and wrong answers, ${ENOUGH_RIGHT} right ones or more among them, one has right answers that earn as much as the wrong ones on average, without rewards that are named for the form`,
      sources: ['huggingface/trl#2714'],
      why: 'Seen in a reward that was the distance to the answer: it rose from 1.3 to 44 while the share of right answers fell from a quarter to 3 %.',
      remedy: 'Turn the sign of the reward: what is to become larger must be larger for what is better.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B20', 'B26', 'B27', 'B28', 'B30', 'B61'],
      settles: 'The rewards of a right and of a wrong answer to one prompt, graded by hand.',
      proofs: ['native', 'TRL run'],
      needs: ['answers', 'texts', 'promptOf', 'totals', 'rewardNames', 'rewardValues', 'rewardWeights'],
      see({ answers, texts, promptOf, rewardNames, rewardValues, rewardWeights }, record) {
        const B = texts.length;
        const grades = gradesOf(record).map((grade, b) =>
          rewardNames.reduce(
            (rest, name, k) => (FORM.test(name) ? rest - rewardWeights[k]! * rewardValues[k * B + b]! : rest),
            grade,
          ),
        );
        return groupsOf(promptOf).flatMap((group) => {
          const gold = goldIn(answers[promptOf[group[0]!]!] ?? '');
          const right = gold === '' ? [] : group.filter((b) => endsIn(texts[b]!, gold));
          const wrong = group.filter((b) => !right.includes(b));
          if (right.length === 0 || wrong.length === 0) return [];
          const of = (places: readonly number[]) => mean(places.map((b) => grades[b]!));
          return [{ right: of(right), wrong: of(wrong), count: right.length, completion: right[0]! }];
        });
      },
      test(seen) {
        const groups = seen.flatMap(({ step, value }) => value.map((one) => ({ ...one, step })));
        const measured = {
          groups: groups.length,
          answers: sum(groups.map(({ count }) => count)),
          right: mean(groups.map(({ right }) => right)),
          wrong: mean(groups.map(({ wrong }) => wrong)),
        };
        if (groups.length < ENOUGH_GROUPS || measured.answers < ENOUGH_RIGHT)
          return notApplicable(`${ENOUGH_GROUPS} groups with right and wrong answers`);
        return groups.every(({ right, wrong }) => right < wrong)
          ? warn(
              measured,
              groups.map(({ step, completion, right, wrong }) => ({
                step,
                completion,
                values: { right, wrong },
              })),
            )
          : pass(measured);
      },
      says: (m) =>
        say`Right answers earn less than wrong ones in each of ${m.groups} groups that have both: ${m.right} and ${m.wrong} on average. Training leads away from the reference answers.`,
    }),
    runCheck({
      code: 'B25.outweighed',
      title: 'What pays right answers is not outweighed',
      stage: 'reward',
      level: 4,
      rank: 7,
      threshold: `over all records, of ${ENOUGH_RIGHT} right answers or more, fewer than ${percent(OUTWEIGHED)} earn less than a wrong one of their group though some reward pays them more`,
      why: 'Seen with two weights that were exchanged: the form paid 1 and the right answer 0.05, and right answers without the form had negative advantages.',
      remedy:
        'Compare the weights with the rewards that they belong to, in their order: the answer should weigh most.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B26', 'B27', 'B28', 'B30', 'B61'],
      settles: 'The weighted rewards of the two completions, one by one.',
      proofs: ['TRL run'],
      needs: ['answers', 'texts', 'promptOf', 'totals', 'rewardNames', 'rewardValues', 'rewardWeights'],
      see({ answers, texts, promptOf, totals, rewardNames, rewardValues, rewardWeights }) {
        return groupsOf(promptOf).flatMap((group) => {
          const gold = goldIn(answers[promptOf[group[0]!]!] ?? '');
          const isRight = (b: number) => gold !== '' && endsIn(texts[b]!, gold);
          const wrong = group.filter((b) => !isRight(b) && !Number.isNaN(totals[b]!));
          const best = wrong.sort((a, b) => totals[b]! - totals[a]!)[0];
          return group.filter(isRight).map((right) => {
            if (best === undefined || !(totals[best]! > totals[right]!)) return undefined;
            const gains = rewardNames.map((reward, k) => {
              const value = (b: number) => rewardWeights[k]! * rewardValues[k * texts.length + b]! || 0;
              return { reward, gain: value(best) - value(right) };
            });
            const sorted = gains.sort((a, b) => b.gain - a.gain);
            const [most, least] = [sorted[0], sorted.at(-1)];
            if (!most || !least || least.gain >= 0) return undefined;
            return {
              by: most.reward,
              most: most.gain,
              pays: least.reward,
              least: -least.gain,
              right,
              wrong: best,
            };
          });
        });
      },
      test(seen) {
        const answers = seen.flatMap(({ step, value }) => value.map((one) => one && { ...one, step }));
        if (answers.length < ENOUGH_RIGHT) return notApplicable(`${ENOUGH_RIGHT} right answers`);
        const own = answers.filter((one) => one !== undefined);
        const [first] = own;
        const measured = { answers: answers.length, outweighed: own.length };
        if (!first || own.length < OUTWEIGHED * answers.length) return pass(measured);
        const { by, pays, most, least } = first;
        const evidence = own.map((one) => ({
          step: one.step,
          completion: one.right,
          values: { 'less than completion': one.wrong, [one.by]: -one.most, [one.pays]: one.least },
        }));
        return warn({ ...measured, by, pays, most, least }, evidence);
      },
      says: (m) =>
        say`${m.outweighed} of ${m.answers} right answers earn less than a wrong one of their group: ${m.by!} gives that one ${m.most!} more, and ${m.pays!} only ${m.least!} less. What pays the answer is outweighed.`,
    }),
    runCheck({
      code: 'B25.trifles',
      title: 'Groups that differ by a trifle do not count as much as others',
      stage: 'advantage',
      level: 5,
      rank: 4,
      threshold: `over all records, where the deviation of the group divides: in at most ${100 * SOME} % of the groups with unequal rewards these differ by less than ${100 * TRIFLE} % of the range in their step and give an advantage above ${LARGE}; fewer than ${100 * MANY} % only inform, and so do fewer than ${ENOUGH_GROUPS} groups`,
      sources: ['arXiv:2503.20783'],
      why: 'Seen with 0.001 per character beside a reward of 0 or 1: three of ten groups learnt from the characters alone, at full strength, and the share of right answers fell from 0.41 to 0.16.',
      remedy:
        'Treat such groups as flat (advantage.flatBelow), divide by nothing or by the deviation of the batch (scale none or batch), or leave the small reward out.',
      consequence: { rerun: 'GRPO', checkpointsVoid: false },
      settles: 'The rewards and advantages of such a group, side by side.',
      proofs: ['TRL run'],
      needs: ['totals', 'advantages', 'promptOf', 'declared'],
      see({ totals, advantages, promptOf, declared }) {
        if (declared.advantage?.scale !== 'group') return 'advantages divided by the deviation of the group';
        const range = largest(totals) - smallest(totals);
        const unequal = groupsOf(promptOf)
          .map((group) => ({
            completion: group[0]!,
            differ: largest(group.map((b) => totals[b]!)) - smallest(group.map((b) => totals[b]!)),
            most: largest(group.map((b) => Math.abs(advantages[b]!))),
          }))
          .filter(({ differ }) => differ > 0);
        return {
          range,
          groups: unequal.length,
          trifles: unequal.filter(({ differ, most }) => differ < TRIFLE * range && most > LARGE),
        };
      },
      test(seen) {
        const found = seen.flatMap(({ step, value }) => value.trifles.map((one) => ({ ...one, step })));
        const groups = sum(seen.map(({ value }) => value.groups));
        const measured = {
          groups,
          trifles: found.length,
          differ: largest(found.map(({ differ }) => differ)),
          range: largest(seen.map(({ value }) => value.range)),
        };
        if (groups === 0) return notApplicable('a group of unequal rewards');
        const evidence = found.map(({ step, completion, differ, most }) => ({
          step,
          completion,
          values: { differ, advantage: most },
        }));
        if (found.length <= SOME * groups) return pass(measured);
        return found.length > MANY * groups && found.length >= ENOUGH_GROUPS
          ? warn(measured, evidence)
          : inform(measured, evidence);
      },
      says: (m) =>
        say`In ${m.trifles} of ${m.groups} groups with unequal rewards these differ by ${m.differ} at most, of a range of ${m.range}: divided by their deviation, such trifles count as much as right against wrong.`,
    }),
    logCheck({
      code: 'B25.log',
      title: 'No reward for the answer falls while the total rises',
      stage: 'reward',
      level: 4,
      rank: 8,
      threshold: `where the total reward gained beyond its noise and kept it, no function that is named for the answer lost more than half of its mean beyond its noise; ${MIN_ENTRIES} entries or more`,
      why: 'The function with the largest deviation within groups decides the advantages: a penalty of characters beside a reward of 0 or 1 leaves nothing of the answer.',
      remedy:
        'Bring the functions to one scale, by weights or by normalizing each before the sum; look at the deviation of each.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B08', 'B16', 'B26', 'B30', 'B54', 'B61'],
      settles: 'The completions at the end: what they earn, and for what.',
      needs: ['reward'],
      test(log): Outcome<{ name: string; from: number; to: number; start: number; end: number }> {
        const { course } = log;
        const { answers, others } = course.functions;
        if (answers.length === 0 || others.length === 0)
          return notApplicable('a reward function that is named for the answer, and another');
        const reward = course.of('reward')!;
        if (!course.lastingGain) return pass({ functions: answers.length + others.length });
        const measured = { start: reward.start, end: reward.end };
        for (const metric of answers) {
          const own = course.metric(metric);
          if (!own || own.points.length < MIN_ENTRIES) continue;
          const { from, to, step, beyond } = own.fall;
          const floor = Math.min(0, ...own.points.map(({ value }) => value));
          if (beyond < BEYOND_NOISE || from - to <= (from - floor) / 2) continue;
          const evidence = [entryAt(log, metric, step)];
          return warn({ ...measured, name: functionOf(metric), from, to }, evidence);
        }
        return pass(measured);
      },
      says: (m) =>
        say`The reward ${m.name} fell from ${m.from} to ${m.to} while the total rose from ${m.start} to ${m.end}: another function pays for it.`,
    }),
    logCheck({
      code: 'B25.weights',
      title: 'A penalty takes from the reward',
      stage: 'reward',
      level: 4,
      rank: 7,
      threshold: `where the logged reward is a weighted sum of the logged functions, within ${EXACT} of the largest reward over ${MIN_ENTRIES} entries or more, no function that is never above 0 has a weight below 0 that the others cannot replace`,
      sources: ['huggingface/trl@f2cd57710ae3:trl/trainer/grpo_trainer.py'],
      why: 'reward = Σ weight × function. A penalty that is negative already and has a negative weight is paid for.',
      remedy: 'Give such a function a weight above 0, or let it return how much is to be taken off.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B08', 'B16', 'B25', 'B26', 'B30', 'B54', 'B61'],
      proofs: ['log only'],
      needs: ['reward'],
      test(log): Outcome<{ entries: number; name: string; weight: number; usual: number }> {
        const names = rewardNames(log).filter((name) =>
          log.column(`rewards/${name}/mean`).some((value) => value !== 0),
        );
        const entries = log.series.entries.flatMap(({ values }) => {
          const row = [values.reward, ...names.map((name) => values[`rewards/${name}/mean`])];
          return row.every((value) => Number.isFinite(value)) ? [row as number[]] : [];
        });
        if (names.length === 0 || entries.length < MIN_ENTRIES + names.length)
          return notApplicable('a reward and its functions in more entries');
        const [rewards, ...columns] = [...names.keys(), names.length].map((k) =>
          entries.map((row) => row[k]!),
        ) as [number[], ...number[][]];
        const weights = leastSquares(rewards, columns);
        if (!isSum(rewards, columns, weights))
          return notApplicable('a reward that is a weighted sum of the logged functions');
        // A weight is known where the reward is no sum of the others.
        const isKnown = (k: number) => {
          const others = columns.filter((_, other) => other !== k);
          return !isSum(rewards, others, leastSquares(rewards, others));
        };
        const paid = weights.findIndex((weight, k) => weight < 0 && largest(columns[k]!) <= 0 && isKnown(k));
        if (paid < 0) return pass({ entries: entries.length });
        return fail({
          entries: entries.length,
          name: names[paid]!,
          weight: weights[paid]!,
          usual: mean(columns[paid]!),
        });
      },
      says: (m) =>
        say`The function ${m.name} is a penalty, never above 0 (${m.usual} on average), and enters the reward with a weight of ${m.weight}: what it is to punish is paid for.`,
    }),
  ],
};

/** Whether values are the weighted sum of columns, but for rounding. */
function isSum(
  values: readonly number[],
  columns: readonly (readonly number[])[],
  weights: readonly number[],
): boolean {
  const scale = largest(values.map(Math.abs));
  return values.every((value, i) => {
    const off = value - sum(columns.map((column, k) => weights[k]! * column[i]!));
    return Math.abs(off) <= EXACT * scale;
  });
}
