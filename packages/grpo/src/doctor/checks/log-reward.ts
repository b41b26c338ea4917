/** Logs: each reward earns something, and their sum is what its parts say, and a number. */
import { logCheck } from '../check.js';
import { at, rewardNames } from '../log-view.js';
import { type Evidence, fail, inform, notApplicable, pass, warn } from '../outcome.js';
import { sum } from '../statistics.js';
import { known, longestRun, median } from '../trend.js';

const consequence = { rerun: 'GRPO', checkpointsVoid: true } as const;
const harmless = { rerun: 'nothing', checkpointsVoid: false } as const;

/** Entries in a row before a flat metric says something. */
const LONG = 20;
/** A reward that takes away, and is 0 where there is nothing to take. */
const PENALTY = /penal|punish|overlong|repeti|length/i;
/** Evaluations look at hundreds of completions each. */
const FEW = 5;

export const rewardLogChecks = [
  logCheck({
    code: 'B28.log',
    title: 'Every reward with a weight varies',
    stage: 'reward',
    kind: 'heuristic',
    level: 4,
    threshold: `not one value of 0 or less, with deviation 0, over ${LONG} entries in a row; a penalty of 0 is health`,
    source: 'faults.md B28: format rewards at 0 in all 250 steps of two public runs',
    remedy: 'Test the function on a text that should earn it: a pattern that cannot match never pays.',
    consequence: harmless,
    settles: 'A gold completion through this reward.',
    needs: ['reward'],
    test(log) {
      const names = rewardNames(log);
      if (names.length === 0) return notApplicable('rewards/NAME/mean');
      const dead = names.flatMap((name): Evidence[] => {
        const means = log.column(`rewards/${name}/mean`);
        const deviations = log.column(`rewards/${name}/std`);
        const first = known(means)[0]!;
        const { start, length } = longestRun(means, (value) => value === first);
        // A reward that every completion earns is done, not dead.
        const nothing =
          (PENALTY.test(name) ? first < 0 : first <= 0) &&
          known(deviations).every((deviation) => deviation === 0);
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
  }),
  logCheck({
    code: 'B06.log',
    title: 'The format can be fulfilled',
    stage: 'template',
    kind: 'heuristic',
    level: 1,
    threshold: `a reward named for the format is not 0 throughout ${LONG} entries, or ${FEW} evaluations, in which completions end by themselves`,
    source: 'seed 004; open-r1#489: stop string stripped, or opening tag already in the prompt',
    remedy:
      'Grade prompt end + a gold completion as the engine returns it: is the stop string there, the opening tag twice or never?',
    consequence,
    induces: ['B20', 'B28', 'B30', 'B26'],
    settles: 'One completion with its last tokens as the engine returned them, through the format reward.',
    needs: [],
    test(log) {
      const names = log.names(/format/i).filter((name) => !/std|weight/i.test(name));
      if (names.length === 0) return notApplicable('a metric named for the format');
      const enough = (name: string) =>
        known(log.column(name)).length >= (/eval|val|test/i.test(name) ? FEW : LONG);
      const judged = names.filter(enough);
      if (judged.length === 0)
        return notApplicable(`${LONG} entries, or ${FEW} evaluations, of a format reward`);
      const cut = known(log.column('completions/clipped_ratio'));
      const ends = cut.length === 0 || median(cut) < 0.5;
      const dead = judged.flatMap((name): Evidence[] => {
        const column = log.column(name);
        const all = known(column);
        return ends && all.every((value) => value === 0)
          ? [
              {
                ...at(log, column.indexOf(0), name, 0),
                values: { entries: all.length },
              },
            ]
          : [];
      });
      const measured = {
        metrics: judged.length,
        dead: dead.length,
        ...(dead[0]?.text && { name: dead[0].text, entries: dead[0].values!.entries! }),
      };
      return dead.length > 0 ? warn(measured, dead) : pass(measured);
    },
  }),
  logCheck({
    code: 'B22.log',
    title: 'Reward functions do not fail',
    stage: 'reward',
    kind: 'heuristic',
    level: 4,
    threshold: 'reward_failures 0 in all entries; in up to 5 % of them they only inform',
    source: 'seed 001: exceptions that became −0.5 and −1',
    remedy: 'Read the reasons in the step’s record; a failure must not become a number.',
    consequence: harmless,
    settles: 'The failing completions given to the function by hand.',
    needs: ['reward_failures'],
    test(log) {
      const failures = log.column('reward_failures');
      const some = [...failures.keys()].filter((i) => failures[i]! > 0);
      const measured = { entries: known(failures).length, withFailures: some.length };
      if (some.length === 0) return pass(measured);
      const evidence = some.map((i) => at(log, i, 'reward_failures', failures[i]!));
      return some.length > 0.05 * measured.entries ? warn(measured, evidence) : inform(measured, evidence);
    },
  }),
  logCheck({
    code: 'B17.log',
    title: 'Completions of a prompt differ',
    stage: 'generation',
    kind: 'heuristic',
    level: 4,
    threshold:
      'groups of identical completions in less than half of the entries; only informs, since a learnt task has them in health',
    source: 'seeds 001 and 003, which warn of them',
    remedy:
      'A higher temperature, a random stream for each completion; near the end of a successful run nothing.',
    consequence: harmless,
    induces: ['B30'],
    settles:
      'Entropy and reward: at high entropy the sampler is broken, at low entropy and high reward the task is learnt.',
    needs: [],
    test(log) {
      const names = log.names(/^(identical_groups|skipped\/identical)$/);
      if (names.length === 0) return notApplicable('a count of groups of identical completions');
      const alike = log.series.entries.filter(({ values }) => names.some((name) => values[name]! > 0)).length;
      const measured = { entries: log.series.entries.length, alike };
      return alike >= measured.entries / 2 ? inform(measured) : pass(measured);
    },
  }),
  logCheck({
    code: 'B21.log',
    title: 'The reward is the weighted sum of its parts',
    stage: 'reward',
    kind: 'heuristic',
    level: 4,
    threshold:
      'Σ declared weight × mean within 1 % of the largest part, in half of 3 entries or more; completions that a function does not grade break it in health',
    source: 'identity of TRL’s metrics where every function grades every completion; trl#5353, trl#6533',
    remedy:
      'Compare names, order and number of weights with the reward functions; look at how many values each returns.',
    consequence: harmless,
    settles: 'The rewards of one step by hand, each function and the sum.',
    needs: ['reward'],
    test(log) {
      const names = rewardNames(log);
      const weights = log.declared.rewardWeights ?? [];
      if (names.length === 0 || weights.length !== names.length || log.series.rewardIsWeighted === false)
        return notApplicable('rewards/NAME/mean, a declared weight for each, and a reward that has them');
      const judged = log.series.entries.flatMap(({ step, values }) => {
        const parts = names.map((name, k) => weights[k]! * values[`rewards/${name}/mean`]!);
        const total = sum(parts);
        return Number.isFinite(total) && values.reward !== undefined
          ? [{ step, sum: total, reward: values.reward, scale: Math.max(1e-3, ...parts.map(Math.abs)) }]
          : [];
      });
      if (judged.length < 3) return notApplicable('3 entries with all rewards');
      const wrong = judged.filter((entry) => Math.abs(entry.sum - entry.reward) > 0.01 * entry.scale);
      const measured = { entries: judged.length, wrong: wrong.length };
      const evidence = wrong.map(({ step, sum: total, reward }) => ({
        step,
        text: 'reward',
        values: { sum: total, reward },
      }));
      return wrong.length > judged.length / 2 ? warn(measured, evidence) : pass(measured);
    },
  }),
  logCheck({
    code: 'B29.log',
    title: 'The reward is a number',
    stage: 'reward',
    kind: 'identity',
    level: 4,
    threshold: 'finite in every entry that has it; a single reward function may have nothing to say',
    source: 'identity; trl#3079: a missing reward that became NaN, and then every advantage of its group',
    remedy:
      'Leave what could not be graded out of the sum, and completions without any reward out of the group.',
    consequence,
    induces: ['B45', 'B30', 'B52'],
    needs: [],
    test(log) {
      const rewards = log.series.entries.flatMap(({ step, values: { reward, reward_failures } }) =>
        // Where every completion's reward failed there is none: B22.log's.
        reward === undefined || (reward_failures ?? 0) > 0 ? [] : [{ step, reward }],
      );
      if (rewards.length === 0) return notApplicable('reward');
      const broken = rewards.filter(({ reward }) => !Number.isFinite(reward));
      const measured = { entries: rewards.length, broken: broken.length };
      const evidence = broken.map(({ step, reward }) => ({
        step,
        text: 'reward',
        values: { value: reward },
      }));
      return broken.length > 0 ? fail(measured, evidence) : pass(measured);
    },
  }),
];
