import { largest, nonzero, smallest, sum, withoutNaN } from '../../maths/moments.js';
import { CANARY } from '../../trace/index.js';
import { logCheck, runCheck, stepCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { at } from '../log-view.js';
import { judgeCanaries, SETTLES, SHARE } from '../measures/canaries.js';
import { byReward, type Graded, gradedAnswers, isNatural } from '../measures/grades.js';
import { endsIn } from '../measures/right-answers.js';
import { type Evidence, inform, notApplicable, type Outcome, pass, shorten, warn } from '../outcome.js';
import { percent, say } from '../sentence.js';

const SOME = 0.05;
const MANY = 0.3;
/** Completions that a reward begins with, the share of them that it tells as the reference answers do, and right ones there. */
const [BEGUN, AGREED, SOME_RIGHT] = [16, 0.95, 4];
/** Share of completions that it tells the other way round. */
const TURNED = 0.15;

/** A reward that began by agreeing with the reference answers, and its later grades. */
type Turn = {
  reward: string;
  agreed: number;
  began: number;
  right: number;
  unpaid: number;
  wrong: number;
  paid: number;
};

/** A reward's later grades, where it began by agreeing with the reference answers. */
function turnOf(
  reward: string,
  records: readonly (Graded & { step: number })[],
): (Turn & { isTurned: boolean; evidence: Evidence[] }) | undefined {
  const most = largest(records.map(({ values }) => largest(values)));
  const middle = (most + smallest(records.map(({ values }) => smallest(values)))) / 2;
  const counted = records.map(({ step, completions, isRight, values }) => {
    // A wrong answer may be right in part.
    const off = [...values.keys()].filter((i) => (isRight[i] ? values[i]! <= middle : values[i]! >= most));
    const unpaid = off.filter((i) => isRight[i]).length;
    const [first = 0] = off;
    const evidence = { step, completion: completions[first] ?? 0, values: { value: values[first] ?? 0 } };
    return { all: values.length, right: nonzero(isRight), unpaid, paid: off.length - unpaid, evidence };
  });
  const over = (some: typeof counted, key: 'all' | 'right' | 'unpaid' | 'paid') =>
    sum(some.map((one) => one[key]));
  // Whole records, until enough right answers are among them.
  const isBegun = (n: number) => {
    const first = counted.slice(0, n);
    return over(first, 'all') >= BEGUN && over(first, 'right') >= SOME_RIGHT;
  };
  let n = 1;
  while (n < counted.length && !isBegun(n)) n++;
  const [first, later] = [counted.slice(0, n), counted.slice(n)];
  const began = over(first, 'all');
  const agreed = began - over(first, 'unpaid') - over(first, 'paid');
  if (!isBegun(n) || over(first, 'right') === began || later.length === 0 || agreed < AGREED * began)
    return undefined;
  const [all, right] = [over(later, 'all'), over(later, 'right')];
  const [unpaid, paid] = [over(later, 'unpaid'), over(later, 'paid')];
  return {
    ...{ reward, agreed, began, right, unpaid, wrong: all - right, paid },
    isTurned: Math.min(unpaid, paid) >= SOME_RIGHT && unpaid + paid >= TURNED * all,
    evidence: later.filter((one) => one.unpaid + one.paid > 0).map(({ evidence }) => evidence),
  };
}

export const b22: Fault = {
  code: 'B22',
  name: 'failures as rewards',
  title: 'Failures become rewards',
  checks: [
    stepCheck({
      code: 'B22.unstable',
      title: 'A reward gives the same completion the same value again',
      stage: 'reward',
      level: 4,
      rank: 6,
      threshold:
        'no reward gives other values when it grades the same completions again. It only informs: a judge that samples may waver',
      why: 'Seen in a judge that timed out at random and returned 0: a third of the right answers was punished.',
      remedy:
        'Look at what the function does on a time-out or an error: leave the completion ungraded (None), do not punish it.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      settles: 'One completion graded ten times.',
      proofs: ['TRL run'],
      needs: ['probes'],
      test({ probes: { unstable } }) {
        if (!unstable) return notApplicable('probes.unstable');
        const measured = { names: unstable.join(', ') };
        return unstable.length > 0 ? inform(measured) : pass(measured);
      },
      says: (m) =>
        say`The reward ${m.names} gives the same completions other values when it is called again: it samples, or fails at times and pays that as a value.`,
    }),
    stepCheck({
      code: 'B22.together',
      title: 'A reward does not fail for a whole batch where it grades each completion',
      stage: 'reward',
      level: 1,
      rank: 1,
      threshold:
        'where a reward gives some completions something else alone than in their batch, the batch has several values; such a reward only informs, since a ranking compares its completions',
      why: 'Seen in a try around the loop over the completions: one text that could not be read took the rewards of all.',
      remedy: 'Catch what one completion does wrong for that completion alone, inside the loop.',
      consequence: { rerun: 'GRPO', checkpointsVoid: false },
      induces: ['B16', 'B20', 'B25', 'B27', 'B30', 'B61'],
      settles: 'The completions of one batch, each graded by a call of its own.',
      proofs: ['TRL run'],
      needs: ['probes'],
      test({ probes: { together } }) {
        if (!together) return notApplicable('probes.together');
        const one = together.find(({ equal }) => equal) ?? together[0];
        if (!one) return pass({ reward: '', graded: 0, changed: 0, earned: 0, earns: 0 });
        const { equal, ...others } = one;
        const measured = { ...others, earned: one.earned ?? 'nothing', earns: one.earns ?? 'nothing' };
        return (equal ? warn : inform)(measured);
      },
      says: (m) =>
        say`The reward ${m.reward} gives ${m.changed} of ${m.graded} completions something else alone than among the others of their batch (one earned ${m.earned}, and earns ${m.earns} alone): one completion decides for others, as where an error of one is caught for all.`,
    }),
    stepCheck({
      code: 'B22.drift',
      title: 'A reward gives a completion of an earlier step the value that it had then',
      stage: 'reward',
      level: 1,
      rank: 1,
      threshold: 'none of a few completions of the first recorded step earns something else in a later one',
      why: 'A reward that depends on the step, a counter or a cache moves its curve without the policy: a punishment of length that grew with trainer_state.global_step outweighed the right answer after six steps.',
      remedy:
        'Where it is meant, look at each part of the reward by itself. Where not, look for what the function reads besides the completion and its row: trainer_state, a global, a cache, a file.',
      consequence: { rerun: 'GRPO', checkpointsVoid: false },
      induces: ['B16', 'B25', 'B26', 'B30', 'B61'],
      settles: 'One completion, graded at the beginning and at the end of the run.',
      proofs: ['TRL run'],
      needs: ['probes'],
      test({ probes: { drift } }) {
        const one = drift?.find(({ changed }) => changed > 0) ?? drift?.[0];
        if (!one) return notApplicable('probes.drift');
        const measured = { ...one, earned: one.earned ?? 'nothing', earns: one.earns ?? 'nothing' };
        return (one.changed > 0 ? warn : pass)(measured);
      },
      says: (m) =>
        say`The reward ${m.reward} gives ${m.changed} of ${m.graded} completions of step ${m.since} another value now (one earned ${m.earned} then, and ${m.earns} now): it depends on the step, or on what it has seen. Rewards of different steps do not compare.`,
    }),
    runCheck({
      code: 'B22.turned',
      title: 'A reward that agreed with the reference answers goes on to do so',
      stage: 'reward',
      level: 1,
      rank: 1,
      threshold: `of a reward that tells right from wrong in ${percent(AGREED)} of the first ${BEGUN} completions or more, ${SOME_RIGHT} right ones among them, later fewer than ${SOME_RIGHT} right answers go unpaid or fewer than ${SOME_RIGHT} wrong ones are paid in full, or both are fewer than ${percent(TURNED)} of all`,
      why: 'Seen in a reward that kept its values by the text of a completion, without the prompt: right at first, later it paid what had been right elsewhere.',
      remedy:
        'Look for what the function keeps between calls, such as a cache whose key lacks the prompt or the row, and for what is put into another order.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B20', 'B25', 'B26', 'B27', 'B28', 'B30', 'B61'],
      settles: 'One of these completions, graded by hand in a new process.',
      proofs: ['TRL run'],
      needs: ['answers', 'texts', 'promptOf', 'rewardNames', 'rewardValues'],
      see: (given) => gradedAnswers(given, (text, gold) => gold !== '' && endsIn(text, gold)),
      test(seen): Outcome<Turn> {
        const turns = byReward(seen).flatMap(({ reward, own }) => turnOf(reward, own) ?? []);
        if (turns.length === 0)
          return notApplicable('a reward that begins by telling right answers from wrong ones');
        const [worst] = turns.sort((one, other) => other.unpaid + other.paid - one.unpaid - one.paid);
        const { evidence, isTurned, ...measured } = worst!;
        return isTurned ? warn(measured, evidence) : pass(measured);
      },
      says: (m) =>
        say`The reward ${m.reward} told right answers from wrong ones in ${m.agreed} of the first ${m.began} completions. Later ${m.unpaid} of ${m.right} right ones earn what wrong ones do, and ${m.paid} of ${m.wrong} wrong ones what right ones do: it keeps something between calls, or grades another completion or row.`,
    }),
    stepCheck({
      code: 'B22.failures',
      title: 'Reward functions do not fail',
      stage: 'reward',
      level: 4,
      rank: 1,
      threshold: `reward functions fail on at most ${100 * SOME} % of the completions`,
      sources: ['huggingface/trl#5281', 'verl-project/verl#5635'],
      why: 'A swallowed exception becomes a reward.',
      remedy: 'Read the reasons; a failure must not become a number.',
      consequence: { rerun: 'GRPO', checkpointsVoid: false },
      induces: ['B30'],
      settles: 'Call the function by hand on the failing completions.',
      proofs: ['native'],
      needs: ['rewards', 'totals'],
      test({ rewards: { failures }, totals }) {
        if (!failures) return notApplicable('rewards.failures');
        const failed =
          failures.filter(({ completion }) => completion !== null).length +
          failures.filter(({ completion }) => completion === null).length * totals.length;
        const measured = { completions: totals.length, failures: failures.length };
        const evidence = failures.map(
          ({ reward, completion, reason }): Evidence => ({
            ...(completion !== null && { completion }),
            text: shorten(reason),
            values: { reward },
          }),
        );
        if (failures.length === 0) return pass(measured);
        return failed > SOME * totals.length ? warn(measured, evidence) : inform(measured, evidence);
      },
      says: (m) => say`Reward functions failed ${m.failures} times on ${m.completions} completions.`,
    }),
    stepCheck({
      code: 'B22.fallback',
      title: 'Rewards are not the value configured for failures',
      stage: 'reward',
      level: 4,
      rank: 1,
      threshold: `at most ${100 * MANY} % of a reward’s values equal a configured fallback; only informs where the fallback is −1, 0 or 1, which a completion may earn`,
      sources: ['huggingface/trl#5281', 'verl-project/verl#5635'],
      why: 'A swallowed exception becomes a reward.',
      remedy:
        'Record a failure as a missing value: a made-up reward falsifies the advantages of the whole group.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B23', 'B25', 'B27', 'B30', 'B33'],
      settles: 'The log of the judge: how often it failed.',
      proofs: ['native'],
      needs: ['rewards', 'rewardNames', 'rewardValues'],
      test({ rewards: { fallbacks }, rewardNames, rewardValues }) {
        if (!fallbacks?.length) return notApplicable('rewards.fallbacks');
        const B = rewardValues.length / rewardNames.length;
        const dead = rewardNames.flatMap((reward, k): Evidence[] => {
          const column = rewardValues.subarray(k * B, (k + 1) * B);
          const value = fallbacks.find(
            (fallback) => column.filter((own) => own === fallback).length > MANY * B,
          );
          return value === undefined ? [] : [{ text: reward, values: { value } }];
        });
        const measured = { rewards: rewardNames.length, dead: dead.length };
        if (dead.length === 0) return pass(measured);
        return dead.every(({ values }) => isNatural(values!.value as number))
          ? inform(measured, dead)
          : warn(measured, dead);
      },
      says: (m) =>
        say`${m.dead} of ${m.rewards} rewards give the value configured for failures to more than ${100 * MANY} % of the completions.`,
    }),
    stepCheck({
      code: 'B22.canary',
      title: 'Known right answers can be graded',
      stage: 'reward',
      level: 4,
      rank: 3,
      threshold: `through the production path, a reward fails and gives no value ${SHARE}`,
      sources: ['huggingface/trl#5281', 'huggingface/Math-Verify#55'],
      why: 'A reward that fails on right answers fails on the completions that matter most.',
      remedy: 'Call the reward by hand with the gold answer of a row, and read its error.',
      consequence: { rerun: 'GRPO', checkpointsVoid: false },
      induces: ['B23', 'B25', 'B26', 'B27', 'B30'],
      settles: SETTLES,
      proofs: ['native'],
      needs: ['probes'],
      test: ({ probes }) =>
        judgeCanaries(
          probes,
          ({ kind, least }) => kind === CANARY.gold && least !== undefined,
          ({ value }) => value !== null,
        ),
      says: (m) => say`On ${m.wrong} of ${m.probes} rows a reward function failed on the right answer.`,
    }),
    logCheck({
      code: 'B22.log',
      title: 'Reward functions do not fail',
      stage: 'reward',
      level: 4,
      rank: 5,
      threshold: 'reward_failures is 0 in all entries; failures in up to 5 % of the entries only inform',
      sources: ['huggingface/trl#5281', 'verl-project/verl#5635'],
      why: 'A swallowed exception becomes a reward.',
      remedy: 'Read the reasons in the step’s record; a failure must not become a number.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      settles: 'Call the function by hand on the failing completions.',
      proofs: ['native'],
      needs: ['reward_failures'],
      test(log) {
        const failures = log.column('reward_failures');
        const some = [...failures.keys()].filter((i) => failures[i]! > 0);
        const measured = { entries: withoutNaN(failures).length, withFailures: some.length };
        if (some.length === 0) return pass(measured);
        const evidence = some.map((i) => at(log, i, 'reward_failures', failures[i]!));
        return some.length > 0.05 * measured.entries ? warn(measured, evidence) : inform(measured, evidence);
      },
      ranges: () => [{ metric: 'reward_failures', high: 0 }],
      says: (m) => say`Reward functions failed in ${m.withFailures} of ${m.entries} entries.`,
    }),
  ],
};
