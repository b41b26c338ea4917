import { isFlat, mean, withoutNaN } from '../../maths/moments.js';
import type { Declared } from '../../trace/index.js';
import { logCheck, stepCheck } from '../check.js';
import { largeBreak } from '../course/movements.js';
import { BEYOND_NOISE, ENOUGH_STEPS, FLAT_ENTRIES } from '../course/run-course.js';
import type { Fault } from '../fault.js';
import { groupsOf } from '../groups.js';
import { at, entryAt } from '../log-view.js';
import { fail, inform, notApplicable, type Outcome, pass, warn } from '../outcome.js';
import { percent, say } from '../sentence.js';

/** Fewest entries for a meaningful mean. */
const ENOUGH = 5;
/** Fewest steps for a share of the run. */
const FEW_STEPS = 20;
/** Height of the reward from which little is left to learn. */
const NEARLY = 0.9;
/** Height of the reward at which few groups can be all right. */
const LOW = 1 / 3;
/** Share of flat groups that is worth a word, and that from which half of the work is lost. */
const SOME = 0.25;
const MUCH = 0.5;
/** Share that leaves no signal. */
const ALL = 0.999;
/** Share that leaves little, and that of the best reward below which flat groups are not all right. */
const [MOST, BELOW] = [0.9, 0.8];

/** Groups without a signal in a short log, and where they came to be most. */
type Few = Record<'steps' | 'share', number> &
  Record<'apart' | 'right' | 'kl', boolean> & {
    isSteady?: boolean;
  } & Partial<Record<'from' | 'to' | 'step' | 'start' | 'end', number>>;

/** Times as many groups as by chance that are flat, since prompts are not equally hard. */
const OF_CHANCE = 1.25;
/** Share of right answers below which chance alone explains flat groups of any size, and is no excuse. */
const QUARTER = 1 / 4;

export const b30: Fault = {
  code: 'B30',
  name: 'flat groups',
  title: 'Groups of equal rewards dominate',
  checks: [
    stepCheck({
      code: 'B30.flat',
      title: 'Rewards differ within groups',
      stage: 'advantage',
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
      needs: ['totals', 'promptOf'],
      test({ totals, promptOf }, { declared = {} }) {
        if (!isCompared(declared)) return notApplicable(COMPARED);
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
      level: 5,
      rank: 3,
      threshold: `over ${FEW_STEPS} steps or more, fewer than half of all groups have equal rewards, or fewer than a quarter in a run of ${ENOUGH_STEPS} steps whose reward does not rise. Only informs where the reward rises, where the share is at most ${OF_CHANCE} times what chance gives groups of the declared size at a share of right answers between ${QUARTER} and ${1 - QUARTER}, or where the reward is within the upper third of its range and as high as it is if the flat groups are all right`,
      sources: ['huggingface/trl#5640', 'huggingface/trl#3857', 'bingreeky/MemGen#33'],
      why: 'A group of equal rewards has no advantage: its share of the work is lost. Right answers make flat groups, too, so the level of the reward decides.',
      remedy:
        'Use prompts that are solved sometimes, larger groups, more diverse sampling, or a reward with more levels.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      induces: ['B45', 'B53'],
      settles: 'The completions of one group with their rewards.',
      proofs: ['native'],
      needs: ['reward'],
      test(log): Outcome<{
        steps: number;
        share: number;
        start: number;
        end: number;
        reward: number;
        state: string;
        least: boolean;
      }> {
        if (!isCompared(log.declared)) return notApplicable(COMPARED);
        const { course } = log;
        const [flat, reward] = [course.of('flat'), course.of('reward')];
        if (!flat || !reward || course.steps < FEW_STEPS) return notApplicable(`${FEW_STEPS} steps`);
        const isRight = course.isHigh && course.areRight(flat.end);
        const state = isRight
          ? course.height >= NEARLY
            ? 'learnt'
            : 'high'
          : course.lastingGain
            ? 'rising'
            : 'still';
        const { mean: share, start, end } = flat;
        // Without the share of groups only entries that are flat throughout are seen.
        const least = !log.has('frac_reward_zero_std');
        const measured = { steps: course.steps, share, start, end, reward: reward.end, state, least };
        const isUsual = share <= OF_CHANCE * flatByChance(log.declared.rollout?.group, reward.mean);
        const isMuch = !isUsual && (share >= MUCH || (share >= SOME && course.isLong));
        // Of groups that are all flat from the start B20.log judges.
        if (share < SOME || share >= ALL) return pass(measured);
        const { shift } = flat;
        const hasRisen = shift.to > shift.from && shift.beyond >= BEYOND_NOISE;
        const evidence = [
          hasRisen
            ? entryAt(log, 'frac_reward_zero_std', shift.step)
            : { text: 'frac_reward_zero_std', values: { level: share } },
        ];
        return isMuch && state === 'still' ? warn(measured, evidence) : inform(measured, evidence);
      },
      ranges: () => [{ metric: 'frac_reward_zero_std', high: SOME }],
      says: (m) =>
        say`${m.least ? 'At least ' : ''}${percent(m.share)} of the groups have equal rewards and no signal (${percent(m.start)} at the start, ${percent(m.end)} at the end). ${
          m.state === 'high' || m.state === 'learnt'
            ? say`The reward is high (${m.reward} at the end): most of these groups are all right${m.state === 'learnt' ? ', the task is nearly learnt.' : '.'}`
            : m.state === 'rising'
              ? 'The reward rises all the same.'
              : say`The reward does not rise from it for good (${m.reward} at the end): that share of the work is lost.`
        }`,
    }),
    logCheck({
      code: 'B30.few',
      title: 'Rewards differ within the groups of a few steps',
      stage: 'advantage',
      level: 5,
      rank: 3,
      threshold: `in a log of fewer than ${FEW_STEPS} steps, fewer than half of all groups have equal rewards; it warns where they rise to that for good, by half of all, and the reward ends in its lower third, or rise to ${percent(MOST)} while it ends below ${percent(BELOW)} of its best`,
      sources: ['huggingface/trl#3857', 'modelscope/ms-swift#4570', 'modelscope/ms-swift#4547'],
      why: 'Three reports of a loss and a gradient of 0. A log has the deviation of single rewards over all completions, of the total within groups: the one is above 0 where the other is 0.',
      remedy:
        'Use prompts that are solved sometimes, larger groups, more diverse sampling, or a reward with more levels.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      settles: 'The completions of one group with their rewards.',
      needs: [],
      test(log): Outcome<Few> {
        if (!isCompared(log.declared)) return notApplicable(COMPARED);
        const shares = log.course.flatShares.map(({ value }) => value);
        const steps = Math.max(log.course.steps, shares.length);
        if (steps >= FEW_STEPS) return notApplicable(`fewer than ${FEW_STEPS} steps`);
        if (shares.length === 0) return notApplicable('frac_reward_zero_std, or reward_std');
        const share = mean(shares);
        const deviations = log.names(/^rewards\/.+\/std$/);
        const apart = log.series.entries.some(
          ({ values }) =>
            (values.frac_reward_zero_std === 1 || values.reward_std === 0) &&
            deviations.some((name) => values[name]! > 0),
        );
        const last = log.course.pointsOf('reward').at(-1)?.value ?? 0;
        const measured = { steps, share, apart, right: last >= share && last <= 1, kl: log.has('kl') };
        const broken = largeBreak(log.course, 'flat');
        if (broken?.isShown && broken.to > broken.from && broken.to >= MUCH) {
          const { to, step, isSteady } = broken;
          const earlier = log.course.flatShares.filter((point) => point.step < step);
          const from = isSteady ? broken.from : mean(earlier.map(({ value }) => value));
          const reward = log.course.of('reward');
          const gone = {
            ...measured,
            from,
            to,
            step,
            isSteady,
            ...(reward && { start: reward.start, end: reward.end }),
          };
          const evidence = [entryAt(log, 'frac_reward_zero_std', step)];
          // Groups that are all right would earn the best that there was.
          const best = reward ? Math.max(...reward.points.map(({ value }) => value)) : 0;
          const isBelowBest = to >= MOST && reward && reward.end < BELOW * best;
          const isLost = reward && (log.course.height < LOW || isBelowBest);
          return isLost ? warn(gone, evidence) : inform(gone, evidence);
        }
        // B20.log judges runs that never have a signal.
        const isAll = shares.length >= FLAT_ENTRIES && share >= ALL;
        return share >= MUCH && !isAll ? inform(measured) : pass(measured);
      },
      says: (m) =>
        say`${m.step === undefined ? say`${percent(m.share)} of the groups have equal rewards (${m.steps} ${m.steps === 1 ? 'step' : 'steps'})` : say`${m.isSteady ? say`The share of groups with equal rewards rose from entry to entry, from ${percent(m.from!)} to ${percent(m.to!)}` : say`From step ${m.step} on ${percent(m.to!)} of the groups have equal rewards, and ${percent(m.from!)} before that`}${m.end === undefined ? '' : say`, while the reward went from ${m.start!} to ${m.end}`}`}: their advantages are 0, so they teach nothing${m.kl ? say`; what gradient there is comes from ${(m.to ?? m.share) < 1 ? 'the others, or from ' : ''}the KL` : ''}.${m.right ? ' With a reward as high as it is most of them may be all right.' : ''}${
          m.apart
            ? ' Deviations of single rewards that the log has are those over all prompts: they say nothing of a group.'
            : ''
        }`,
    }),
    logCheck({
      code: 'B30.gradient',
      title: 'Groups of equal rewards give no gradient',
      stage: 'advantage',
      level: 5,
      rank: 3,
      threshold:
        'grad_norm at most 0.01 where all groups have equal rewards, none was replaced, and β is 0; entries of one step only',
      sources: ['arXiv:2402.03300', 'huggingface/trl@f2cd57710ae3:trl/trainer/grpo_trainer.py'],
      why: 'TRL leaves advantages of up to 1e-4 in groups of equal rewards that are not binary fractions.',
      remedy: 'Test every group for max = min, and give groups of equal rewards advantage 0.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      needs: ['grad_norm', 'frac_reward_zero_std'],
      test(log) {
        if (log.series.stepsPerEntry !== 1) return notApplicable('a log of every step (logging_steps 1)');
        if (log.declared.kl?.beta !== 0 || log.declared.entropy?.coefficient || log.has('entropy_coef'))
          return notApplicable('a declared β of 0, without entropy bonus');
        if (!isCompared(log.declared)) return notApplicable(COMPARED);
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
      code: 'B30.warned',
      title: 'Advantages differ where rewards do',
      stage: 'advantage',
      level: 5,
      rank: 1,
      threshold:
        'a trainer’s own warnings of advantages near 0 are no more than its micro-steps with equal rewards',
      why: 'Seen in a loop that compared each completion with itself alone. A micro-step of several groups that are flat each may have different rewards, too.',
      remedy:
        'Print rewards, baseline and advantages of one group: each A is the reward less the mean of its group.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B45', 'B53'],
      settles: 'The rewards of one group, and its advantages.',
      needs: ['warnings/zero_advantages'],
      test(log) {
        const warned = log.column('warnings/zero_advantages');
        const flat = log.column('frac_reward_zero_std');
        const micros = log.column('micro_steps');
        const entries = [...warned.keys()].filter((i) => warned[i]! > 0);
        const contradicted = entries.filter((i) => warned[i]! > flat[i]! * micros[i]! + 0.5);
        const measured = { entries: entries.length, contradicted: contradicted.length };
        const evidence = contradicted.map((i) => at(log, i, 'warnings/zero_advantages', warned[i]!));
        return contradicted.length > 0 ? warn(measured, evidence) : pass(measured);
      },
      says: (m) =>
        say`In ${m.contradicted} of ${m.entries} entries the trainer warns that all advantages are near 0, although the rewards differ.`,
    }),
    logCheck({
      code: 'B30.expected',
      title: 'Groups have equal rewards no more often than chance explains',
      stage: 'advantage',
      level: 5,
      rank: 4,
      threshold: `share of flat groups at most 1.5 times p^G + (1 − p)^G, and 10 points above it, over ${ENOUGH} entries or more; p is the share of rewards above 0.5. It only informs`,
      sources: ['huggingface/trl#5640'],
      why: 'G completions that are right with probability p are all right or all wrong with p^G + (1 − p)^G.',
      remedy:
        'Use problems that are solved sometimes: drop those that are always or never solved, or sample with more variety.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      settles: 'The share of right completions per problem: near 0 and 1, or in between.',
      needs: ['frac_reward_zero_std', 'frac_reward_zero_std_expected'],
      test(log) {
        if (!isCompared(log.declared)) return notApplicable(COMPARED);
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

/** What a run lacks that learns from equal rewards as from others, or from none. */
const COMPARED = 'advantages that are relative to the group, with a weight';

const isCompared = ({ advantage }: Declared) =>
  advantage?.baseline !== 'none' && advantage?.flat !== 'raw' && advantage?.weight !== 0;

/** Returns the share of groups in which all completions are right or all wrong by chance, at a reward that leaves something to learn. */
function flatByChance(group: number | undefined, reward: number): number {
  if (group === undefined) return 0;
  const right = Math.min(Math.max(reward, QUARTER), 1 - QUARTER);
  return right ** group + (1 - right) ** group;
}
