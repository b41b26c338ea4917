import { isFlat, largest, mean, smallest, withoutNaN } from '../../maths/moments.js';
import { median } from '../../maths/quantile.js';
import { longestRun } from '../../maths/trend.js';
import type { Declared } from '../../trace/index.js';
import { logCheck, stepCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { groupsOf } from '../groups.js';
import { at } from '../log-view.js';
import { fail, inform, notApplicable, type Outcome, pass, warn } from '../outcome.js';
import { percent, say } from '../sentence.js';

/** Fewest entries for a meaningful mean. */
const ENOUGH = 5;

export const b30: Fault = {
  code: 'B30',
  name: 'flat groups',
  title: 'Groups of equal rewards dominate',
  checks: [
    stepCheck({
      code: 'B30.flat',
      title: 'Rewards differ within groups',
      stage: 'advantage',
      kind: 'heuristic',
      level: 5,
      rank: 3,
      threshold:
        'at most half of a step’s groups have equal rewards, or nine tenths of groups of 2 or 3; more is healthy near the end of a successful run',
      sources: ['huggingface/trl#5640', 'huggingface/trl#3857', 'bingreeky/MemGen#33'],
      remedy: 'Use prompts of medium difficulty, larger groups, or a reward with more levels.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      induces: ['B45', 'B53'],
      settles:
        'The reward: if all completions are right, the task is learnt; if all are wrong, it is too hard.',
      proofs: [],
      needs: ['totals', 'promptOf'],
      test({ totals, promptOf }) {
        const groups = groupsOf(promptOf).filter((group) => group.length > 1);
        if (groups.length === 0) return notApplicable('a prompt with several completions');
        const flat = groups.filter((group) => isFlat(group.map((b) => totals[b]!)));
        const measured = {
          groups: groups.length,
          flat: flat.length,
          share: flat.length / groups.length,
          reward: mean(withoutNaN(totals)),
        };
        // Two draws are equal half of the time at least.
        const usual = mean(groups.map(({ length }) => (length < 4 ? 0.9 : 0.5)));
        return measured.share > usual ? inform(measured) : pass(measured);
      },
      says: (m) =>
        say`In ${m.flat} of ${m.groups} groups all completions earned the same reward: these groups give no gradient.`,
    }),
    logCheck({
      code: 'B30.log',
      title: 'Rewards differ within groups',
      stage: 'advantage',
      kind: 'heuristic',
      level: 5,
      rank: 3,
      threshold:
        'no 5 entries in a row in which every group has equal rewards, in a run whose reward changes; only informs where the reward of these entries is the highest of the run, as when the task is learnt',
      sources: ['huggingface/trl#5640', 'huggingface/trl#3857', 'bingreeky/MemGen#33'],
      remedy:
        'Use prompts of medium difficulty, larger groups, more diverse sampling, or a reward with more levels.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      induces: ['B45', 'B53'],
      settles: 'The completions of one group with their rewards.',
      proofs: ['native'],
      needs: ['frac_reward_zero_std'],
      test(log): Outcome<{ entries: number; inARow: number; learnt?: boolean }> {
        if (!isCompared(log.declared)) return notApplicable('advantages that are relative to the group');
        const shares = log.column('frac_reward_zero_std');
        const { start, length } = longestRun(shares, (share) => share === 1);
        const rewards = log.column('reward');
        const most = largest(rewards);
        const measured = { entries: withoutNaN(shares).length, inARow: length };
        if (length < 5 || smallest(rewards) === most) return pass(measured);
        const evidence = [at(log, start, 'frac_reward_zero_std', 1)];
        const learnt = median(rewards.subarray(start, start + length)) >= most - 1e-6;
        return learnt ? inform({ ...measured, learnt }, evidence) : warn(measured, evidence);
      },
      says: (m) =>
        say`In ${m.inARow} entries in a row every group has equal rewards: the run learns nothing from them${m.learnt ? ', at the highest reward of the run: the task is learnt' : ''}.`,
    }),
    logCheck({
      code: 'B30.gradient',
      title: 'Groups of equal rewards give no gradient',
      stage: 'advantage',
      kind: 'identity',
      level: 5,
      rank: 3,
      threshold:
        'grad_norm at most 0.01 where all groups have equal rewards, none was replaced, and β is 0; entries of one step only',
      sources: ['arXiv:2402.03300', 'huggingface/trl@f2cd57710ae3:trl/trainer/grpo_trainer.py'],
      why: 'TRL leaves advantages of up to 1e-4 in groups of equal rewards that are not binary fractions.',
      remedy: 'Test every group for max = min, and give groups of equal rewards advantage 0.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      proofs: [],
      needs: ['grad_norm', 'frac_reward_zero_std'],
      test(log) {
        if (log.series.stepsPerEntry !== 1) return notApplicable('a log of every step (logging_steps 1)');
        if (log.declared.kl?.beta !== 0 || log.declared.entropy?.coefficient || log.has('entropy_coef'))
          return notApplicable('a declared β of 0, without entropy bonus');
        if (!isCompared(log.declared)) return notApplicable('advantages that are relative to the group');
        if (log.has('aux_loss')) return notApplicable('a loss without other terms');
        const norms = log.column('grad_norm');
        const shares = log.column('frac_reward_zero_std');
        const [refilled, replayed] = [log.column('groups_refilled'), log.column('groups_replayed')];
        const gaveWay = (i: number) => refilled[i]! > 0 || replayed[i]! > 0;
        const flat = [...norms.keys()].filter(
          (i) => shares[i] === 1 && !gaveWay(i) && !Number.isNaN(norms[i]!),
        );
        if (flat.length === 0) return notApplicable('an entry of equal rewards');
        const moved = flat.filter((i) => norms[i]! > 0.01);
        const measured = { entries: flat.length, moved: moved.length };
        return moved.length > 0
          ? fail(
              measured,
              moved.map((i) => at(log, i, 'grad_norm', norms[i]!)),
            )
          : pass(measured);
      },
      says: (m) =>
        say`${m.moved} of ${m.entries} entries in which all groups have equal rewards have a gradient norm above 0.01.`,
    }),
    logCheck({
      code: 'B30.expected',
      title: 'Groups have equal rewards no more often than chance explains',
      stage: 'advantage',
      kind: 'heuristic',
      level: 5,
      rank: 4,
      threshold: `share of flat groups at most 1.5 times p^G + (1 − p)^G, and 10 points above it, over ${ENOUGH} entries or more; p is the share of rewards above 0.5. It only informs`,
      sources: ['huggingface/trl#5640'],
      why: 'G completions that are right with probability p are all right or all wrong with p^G + (1 − p)^G.',
      remedy:
        'Use problems that are solved sometimes: drop those that are always or never solved, or sample with more variety.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      settles: 'The share of right completions per problem: near 0 and 1, or in between.',
      proofs: [],
      needs: ['frac_reward_zero_std', 'frac_reward_zero_std_expected'],
      test(log) {
        const actual = withoutNaN(log.column('frac_reward_zero_std'));
        const expected = withoutNaN(log.column('frac_reward_zero_std_expected'));
        if (expected.length < ENOUGH) return notApplicable(`${ENOUGH} entries`);
        const measured = { entries: expected.length, actual: mean(actual), expected: mean(expected) };
        const isMore = measured.actual > Math.max(1.5 * measured.expected, measured.expected + 0.1);
        return isMore ? inform(measured) : pass(measured);
      },
      says: (m) =>
        `${percent(m.actual)} of the groups have equal rewards; ${percent(m.expected)} would if all problems were equally hard. Most problems are always or never solved.`,
    }),
  ],
};

/** Whether equal rewards give no advantage. */
const isCompared = ({ advantage }: Declared) => advantage?.baseline !== 'none' && advantage?.flat !== 'raw';
