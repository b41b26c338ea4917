/** Logs: whether rewards carry a signal, and whether it arrives as a gradient. */
import { logCheck } from '../check.js';
import { at, type LogView, rewardNames } from '../log-view.js';
import { type Evidence, fail, inform, notApplicable, pass, warn } from '../outcome.js';
import { largest, smallest } from '../statistics.js';
import { known, longestRun, median, slope } from '../trend.js';

const consequence = { rerun: 'GRPO', checkpointsVoid: true } as const;
const harmless = { rerun: 'nothing', checkpointsVoid: false } as const;

/** Entries in a row before a flat metric says something. */
const IN_A_ROW = 3;
const LONG = 20;
/** A reward that takes away, and is 0 where there is nothing to take. */
const PENALTY = /penal|punish|overlong|repeti|length/i;
/** Evaluations look at hundreds of completions each. */
const FEW = 5;

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
      const evidence = [at(log, 0, 'reward', rewards[0]!)];
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
      'grad_norm at most 0.01 where all groups have equal rewards and β is 0; entries of one step only',
    source:
      'identity; TRL leaks up to 1e-4 of advantage into groups of equal rewards that are no binary fractions',
    remedy: 'Compare groups by max = min, and give such groups advantage 0.',
    consequence: harmless,
    needs: ['grad_norm', 'frac_reward_zero_std'],
    test(log) {
      if (log.series.stepsPerEntry !== 1) return notApplicable('a log of every step (logging_steps 1)');
      if (log.declared.beta !== 0 || log.declared.entropyCoefficient)
        return notApplicable('a declared β of 0, without entropy bonus');
      if (log.has('aux_loss')) return notApplicable('a loss of rewards alone');
      const norms = log.column('grad_norm');
      const shares = log.column('frac_reward_zero_std');
      const flat = [...norms.keys()].filter((i) => shares[i] === 1 && !Number.isNaN(norms[i]!));
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
    code: 'B26.log',
    title: 'The reward does not rise while the task gets worse',
    stage: 'reward',
    kind: 'heuristic',
    level: 8,
    threshold:
      'over 50 entries or more, not: total reward rising (t > 2) while a reward for the answer falls (t < −2)',
    source: 'open-r1#255: accuracy from 0.16 to 0.06 while format rose from 0.48 to 0.86',
    remedy: 'Pay for form only where the answer is right, or make it a fraction of the answer’s reward.',
    consequence,
    settles: 'Completions with the highest reward, read.',
    needs: ['reward'],
    test(log) {
      const answers = rewardNames(log).filter((name) => /acc|correct|answer|right|solution/i.test(name));
      if (answers.length === 0) return notApplicable('a reward named for the answer');
      const total = slope(log.column('reward'));
      if (total.count < 50) return notApplicable('50 entries');
      const falling = answers.flatMap((name): Evidence[] => {
        const { t } = slope(log.column(`rewards/${name}/mean`));
        return t < -2 ? [{ text: name, values: { t } }] : [];
      });
      const measured = { entries: total.count, rewardT: total.t, falling: falling.length };
      return total.t > 2 && falling.length > 0 ? warn(measured, falling) : pass(measured);
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
    code: 'B58.log',
    title: 'Evaluation follows the training reward',
    stage: 'evaluation',
    kind: 'heuristic',
    level: 8,
    threshold:
      'not: training reward rising (t > 2) and evaluation falling over 5 evaluations or more (t < −2, below 10 of them t < −3)',
    source: 'seed 001: training +0.2025 while evaluation lost 1.6 %',
    remedy: 'Compare the two paths: prompt, decoding, parser; then suspect over-fitting.',
    consequence: { rerun: 'evaluation', checkpointsVoid: false },
    settles: 'One problem through both paths: ids, completion and grade must be equal.',
    needs: ['reward', 'eval_reward'],
    test(log) {
      const evaluation = slope(log.column('eval_reward'));
      if (evaluation.count < 5) return notApplicable('5 evaluations');
      const training = slope(log.column('reward'));
      const measured = { evaluations: evaluation.count, trainingT: training.t, evaluationT: evaluation.t };
      return training.t > 2 && evaluation.t < (evaluation.count < 10 ? -3 : -2)
        ? warn(measured)
        : pass(measured);
    },
  }),
];

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
