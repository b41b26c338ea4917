/** Logs: whether the reward is what its parts say, and a number. */
import { logCheck } from '../check.js';
import { rewardNames } from '../log-view.js';
import { fail, inform, notApplicable, pass, warn } from '../outcome.js';
import { sum } from '../statistics.js';

const consequence = { rerun: 'GRPO', checkpointsVoid: true } as const;
const harmless = { rerun: 'nothing', checkpointsVoid: false } as const;

export const rewardLogChecks = [
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
