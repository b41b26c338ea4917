/** Logs: whether rewards carry a signal, and whether it arrives as a gradient. */
import type { Declared } from '../../trace/index.js';
import { logCheck } from '../check.js';
import { at, type LogView } from '../log-view.js';
import { fail, inform, notApplicable, pass, warn } from '../outcome.js';
import { largest, smallest } from '../statistics.js';
import { known, longestRun, median } from '../trend.js';

const consequence = { rerun: 'GRPO', checkpointsVoid: true } as const;
const harmless = { rerun: 'nothing', checkpointsVoid: false } as const;

/** Entries in a row before a flat metric says something. */
const IN_A_ROW = 3;

export const signalLogChecks = [
  logCheck({
    code: 'B20.log',
    title: 'The reward is not one constant',
    stage: 'reward',
    kind: 'heuristic',
    level: 4,
    threshold: `not: reward_std 0 and one and the same reward in all entries, ${IN_A_ROW} or more; only informs where that is 1, as where all is learnt`,
    source: 'seed 000: reward 0.5, reward_std 0 in every step',
    remedy:
      'Call the reward by hand with a good and a bad completion, in the very type that training hands it: a list of messages, or text.',
    consequence,
    induces: ['B28', 'B30', 'B45', 'B53', 'B58', 'B52'],
    settles: 'Two different completions through the reward function: equal values prove it.',
    needs: ['reward', 'reward_std'],
    test(log) {
      const rewards = known(log.column('reward'));
      const deviations = known(log.column('reward_std'));
      if (rewards.length < IN_A_ROW) return notApplicable(`${IN_A_ROW} entries`);
      const constant =
        rewards.every((reward) => reward === rewards[0]) && deviations.every((deviation) => deviation === 0);
      const cut = known(log.column('completions/clipped_ratio'));
      const measured = {
        entries: rewards.length,
        reward: rewards[0]!,
        ...(cut.length > 0 && { cut: median(cut) }),
      };
      if (!constant) return pass(measured);
      const first = log.column('reward').indexOf(rewards[0]!);
      const evidence = [at(log, first, 'reward', rewards[0]!)];
      return rewards[0] === 1 ? inform(measured, evidence) : warn(measured, evidence);
    },
  }),
  logCheck({
    code: 'B30.log',
    title: 'Groups have rewards that differ',
    stage: 'advantage',
    kind: 'heuristic',
    level: 5,
    threshold:
      'not 5 entries in a row in which every group has equal rewards, while the reward itself moves; only informs where it is then the highest of the run: a task that is learnt',
    source: 'axolotl and verl: a share of 1 every step is no signal; trl#5640',
    remedy:
      'Prompts of middling difficulty, larger groups, more diverse sampling, a reward with more levels.',
    consequence: harmless,
    induces: ['B45', 'B53'],
    settles: 'The completions of one group with their rewards.',
    needs: ['frac_reward_zero_std'],
    test(log) {
      if (!isCompared(log.declared)) return notApplicable('advantages that are relative to the group');
      const shares = log.column('frac_reward_zero_std');
      const { start, length } = longestRun(shares, (share) => share === 1);
      const rewards = log.column('reward');
      const most = largest(rewards);
      const measured = { entries: known(shares).length, inARow: length };
      if (length < 5 || smallest(rewards) === most) return pass(measured);
      const evidence = [at(log, start, 'frac_reward_zero_std', 1)];
      const learnt = median(rewards.subarray(start, start + length)) >= most - 1e-6;
      return learnt ? inform({ ...measured, learnt }, evidence) : warn(measured, evidence);
    },
  }),
  logCheck({
    code: 'B53.log',
    title: 'Rewards that differ give a gradient',
    stage: 'optimizer',
    kind: 'identity',
    level: 7,
    threshold:
      'grad_norm above 1e-6 wherever some group has different rewards; entries of one step only. A failure where none of them has a gradient, a warning where some have: completions that are masked, or rounding',
    source: 'identity; trl#3089, trl#2671. An entry that averages steps shows the last one’s gradient',
    remedy:
      'Check that log-probs carry gradients (checkpointing with frozen inputs, detached outputs), and the mask.',
    consequence,
    induces: ['B52', 'B58'],
    needs: ['grad_norm'],
    test(log) {
      if (log.series.stepsPerEntry !== 1) return notApplicable('a log of every step (logging_steps 1)');
      if (log.declared.flatBelow) return notApplicable('groups that count as soon as they differ');
      const differ = groupsDiffer(log);
      if (!differ) return notApplicable('frac_reward_zero_std, or reward_std as a mean over groups');
      const norms = log.column('grad_norm');
      const dead = [...norms.keys()].filter((i) => differ(i) && norms[i]! < 1e-6);
      const asked = [...norms.keys()].filter((i) => differ(i) && !Number.isNaN(norms[i]!)).length;
      if (asked === 0) return notApplicable('an entry with different rewards in a group');
      const measured = { entries: asked, dead: dead.length };
      if (dead.length === 0) return pass(measured);
      const evidence = dead.map((i) => at(log, i, 'grad_norm', norms[i]!));
      const sure = dead.length === asked && !log.declared.maskTruncated;
      return sure ? fail(measured, evidence) : warn(measured, evidence);
    },
  }),
  logCheck({
    code: 'B30.gradient',
    title: 'Without differences there is no gradient',
    stage: 'advantage',
    kind: 'identity',
    level: 5,
    threshold:
      'grad_norm at most 0.01 where all groups have equal rewards, none gave way to another, and β is 0; entries of one step only',
    source:
      'identity; TRL leaks up to 1e-4 of advantage into groups of equal rewards that are no binary fractions',
    remedy: 'Compare groups by max = min, and give such groups advantage 0.',
    consequence: harmless,
    needs: ['grad_norm', 'frac_reward_zero_std'],
    test(log) {
      if (log.series.stepsPerEntry !== 1) return notApplicable('a log of every step (logging_steps 1)');
      if (log.declared.beta !== 0 || log.declared.entropyCoefficient || log.has('entropy_coef'))
        return notApplicable('a declared β of 0, without entropy bonus');
      if (!isCompared(log.declared)) return notApplicable('advantages that are relative to the group');
      if (log.has('aux_loss')) return notApplicable('a loss of rewards alone');
      const norms = log.column('grad_norm');
      const shares = log.column('frac_reward_zero_std');
      const [refilled, replayed] = [log.column('groups_refilled'), log.column('groups_replayed')];
      const gaveWay = (i: number) => refilled[i]! > 0 || replayed[i]! > 0;
      const flat = [...norms.keys()].filter(
        (i) => shares[i] === 1 && !gaveWay(i) && !Number.isNaN(norms[i]!),
      );
      if (flat.length === 0) return notApplicable('an entry without differences');
      const moved = flat.filter((i) => norms[i]! > 0.01);
      const measured = { entries: flat.length, moved: moved.length };
      return moved.length > 0
        ? fail(
            measured,
            moved.map((i) => at(log, i, 'grad_norm', norms[i]!)),
          )
        : pass(measured);
    },
  }),
];

/** Whether equal rewards give no advantage. */
const isCompared = ({ baseline, flat }: Declared) => baseline !== 'none' && flat !== 'raw';

/** Whether some group of an entry has different rewards; undefined where the log cannot tell. */
function groupsDiffer(log: LogView): ((index: number) => boolean) | undefined {
  if (log.has('frac_reward_zero_std')) {
    const shares = log.column('frac_reward_zero_std');
    return (i) => shares[i]! < 1;
  }
  if (log.has('reward_std') && log.series.rewardDeviation === 'groups') {
    const deviations = log.column('reward_std');
    return (i) => deviations[i]! > 0;
  }
  return undefined;
}
