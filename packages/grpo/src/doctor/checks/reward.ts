/** Rewards tell completions apart, and are what the functions returned. */
import { stepCheck } from '../check.js';
import { gradesOf } from '../grades.js';
import { keysOf } from '../inputs.js';
import { type Evidence, fail, inform, notApplicable, pass, shorten, warn } from '../outcome.js';
import { groupsOf, isFlat } from '../statistics.js';
import { known } from '../trend.js';

/** Distinct completions of which it says nothing that they earn the same. */
const FEW = 4;
const SOME = 0.05;
const MANY = 0.3;

export const rewardChecks = [
  stepCheck({
    code: 'B20.constant',
    title: 'Different completions do not all earn the same reward',
    stage: 'reward',
    kind: 'heuristic',
    level: 4,
    threshold:
      'not one total reward for a whole step with 4 distinct texts or more; only informs where it is made of −1, 0 and 1, as rewards are that all miss or all earn',
    source: 'seed 000: a reward that gets message lists and falls back to 0.5',
    remedy:
      'Call the reward by hand with a good and a bad completion, in the very type that training hands it.',
    consequence: { rerun: 'GRPO', checkpointsVoid: true },
    induces: ['B28', 'B30', 'B53', 'B26'],
    settles:
      'A known-good and a known-bad completion through the reward: equal values are a broken reward, different ones a task too hard or too easy.',
    needs: ['texts', 'totals', 'rewards'],
    test({ texts, rewards: { inputType, values } }, record) {
      const totals = gradesOf(record);
      const distinct = new Set(texts.filter((_, b) => !Number.isNaN(totals[b]!))).size;
      const [value] = known(totals);
      if (value === undefined || distinct < FEW)
        return notApplicable(`${FEW} distinct completions with a reward`);
      const natural = known(values ?? totals).every(isNatural);
      const measured = {
        completions: texts.length,
        distinct,
        ...(inputType && { inputType }),
        value,
        natural,
      };
      if (!isFlat(totals)) return pass(measured);
      return natural ? inform(measured) : warn(measured);
    },
  }),
  stepCheck({
    code: 'B21.totals',
    title: 'A completion’s reward is the weighted sum of its parts',
    stage: 'reward',
    kind: 'identity',
    level: 4,
    threshold: 'equal within 1e-6 of the largest part',
    source: 'identity; trl#6533: one value broadcast to all completions',
    remedy: 'Check how many values a reward returns, and in which order completions are handed to it.',
    consequence: { rerun: 'GRPO', checkpointsVoid: true },
    induces: ['B30', 'B31', 'B33'],
    needs: ['rewardWeights', 'rewardValues', 'totals'],
    test({ rewardWeights, rewardValues, totals }) {
      const B = totals.length;
      const wrong = [...totals].flatMap((total, completion): Evidence[] => {
        if (Number.isNaN(total)) return [];
        let [found, scale] = [0, 1];
        for (let k = 0; k < rewardWeights.length; k++) {
          const part = rewardWeights[k]! * rewardValues[k * B + completion]!;
          if (Number.isNaN(part)) continue;
          found += part;
          scale = Math.max(scale, Math.abs(part));
        }
        return Math.abs(found - total) > 1e-6 * scale ? [{ completion, values: { sum: found, total } }] : [];
      });
      const measured = { completions: B, wrong: wrong.length };
      return wrong.length > 0 ? fail(measured, wrong) : pass(measured);
    },
  }),
  stepCheck({
    code: 'B21.alike',
    title: 'Equal completions of a prompt earn the same',
    stage: 'reward',
    kind: 'heuristic',
    level: 4,
    threshold:
      'not: most of the equal completions of a prompt, 4 or more, with another reward; a judge may waver',
    source: 'seed 001: rewards handed to [p1, p2, p1, p2] in place of [p1, p1, p2, p2]; proposal',
    remedy:
      'Compute the reward of one completion by hand and compare; look at the order in which they are handed over.',
    consequence: { rerun: 'GRPO', checkpointsVoid: true },
    induces: ['B30', 'B31', 'B33'],
    settles: 'The rewards of one step computed again, each by itself: they must be the recorded ones.',
    needs: ['ids', 'promptOf', 'totals'],
    test({ ids, promptOf }, record) {
      const totals = gradesOf(record);
      const keys = keysOf(ids);
      const firsts = new Map<string, number>();
      const pairs = [...ids.keys()].flatMap((completion) => {
        const key = `${promptOf[completion]}: ${keys[completion]}`;
        const first = firsts.get(key);
        if (first === undefined) firsts.set(key, completion);
        return first === undefined || Number.isNaN(totals[completion]! + totals[first]!)
          ? []
          : [{ completion, values: { equals: first, reward: totals[completion]!, other: totals[first]! } }];
      });
      if (pairs.length < 4) return notApplicable('four completions equal to another');
      const unequal = pairs.filter(({ values }) => values.reward !== values.other);
      const measured = { pairs: pairs.length, unequal: unequal.length };
      return unequal.length > pairs.length / 2 ? warn(measured, unequal) : pass(measured);
    },
  }),
  stepCheck({
    code: 'B22.failures',
    title: 'Reward functions do not fail',
    stage: 'reward',
    kind: 'heuristic',
    level: 4,
    threshold: `at most ${100 * SOME} % of the completions`,
    source: 'proposal; seed 001: exceptions that became −0.5 and −1',
    remedy: 'Read the reasons; a failure must not become a number.',
    consequence: { rerun: 'GRPO', checkpointsVoid: false },
    induces: ['B30'],
    settles: 'The failing completions given to the function by hand.',
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
  }),
  stepCheck({
    code: 'B22.fallback',
    title: 'Rewards are earned, not the value that stands for a failure',
    stage: 'reward',
    kind: 'heuristic',
    level: 4,
    threshold: `at most ${100 * MANY} % of a reward’s values equal to a configured fallback; only informs where that is −1, 0 or 1, which may be earned`,
    source: 'proposal; seeds 001 and 002',
    remedy: 'Let failures be missing values: a made-up reward is a made-up advantage for the whole group.',
    consequence: { rerun: 'GRPO', checkpointsVoid: true },
    induces: ['B23', 'B27', 'B30', 'B33'],
    settles: 'The log of the judge: how often it failed.',
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
  }),
  stepCheck({
    code: 'B24.provider',
    title: 'One judge grades all completions of a prompt',
    stage: 'reward',
    kind: 'heuristic',
    level: 4,
    threshold: 'one provider a group; several may be one model',
    source: 'seed 002: the provider of each row decided the sign of its advantage',
    remedy: 'Choose the judge by prompt; when it fails, grade the whole group again with the other.',
    consequence: { rerun: 'GRPO', checkpointsVoid: true },
    induces: ['B21', 'B33'],
    settles: 'The same completions graded by each of them: equal means and spreads are one scale.',
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
  }),
];

/** −1, 0 and 1 are what rewards are that are wholly missed or wholly earned. */
const isNatural = (value: number) => value === 0 || Math.abs(value) === 1;
