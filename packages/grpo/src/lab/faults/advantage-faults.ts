/** Advantages do not follow from the rewards of the group. */
import { mean, moments } from '../../maths/moments.js';
import { type AdvantageSettings, advantagesOf } from '../../objective/index.js';
import type { Stages } from '../../step/stages.js';
import type { LabRun } from '../lab-run.js';
import { lettersTask } from '../letters-task.js';
import type { PlantedFault } from './planted-fault.js';

/** An advantage stage of one's own; what it does not tell is as usual. */
const advantage =
  (own: (rewards: Float64Array, groupSize: number) => Float64Array): Stages['advantage'] =>
  (rewards, groupSize, settings) => ({
    ...advantagesOf(rewards, groupSize, settings),
    advantages: own(rewards.totals, groupSize),
  });

/** Advantages that are a function of a completion's reward and the rewards of its group. */
const within = (own: (reward: number, group: Float64Array) => number): Stages['advantage'] =>
  advantage((rewards, size) => rewards.map((reward, b) => own(reward, groupAt(rewards, b, size))));

const groupAt = (rewards: Float64Array, b: number, size: number) =>
  rewards.subarray(b - (b % size), b - (b % size) + size);

const deviation = (values: Float64Array, ddof: number) => moments(values, ddof).deviation;
const scaledBy = (values: Float64Array, divisor: number) => values.map((x) => (x - mean(values)) / divisor);

/** Rewards one after another in the order that `place` gives, and advantages back in the old one. */
const regrouped =
  (place: (b: number, B: number, size: number) => number): Stages['advantage'] =>
  (rewards, size, settings) => {
    const { totals } = rewards;
    const order = Array.from(totals, (_, b) => place(b, totals.length, size));
    const moved = { ...rewards, totals: Float64Array.from(order, (b) => totals[b]!) };
    const advantages = new Float64Array(totals.length);
    for (const [i, value] of advantagesOf(moved, size, settings).advantages.entries())
      advantages[order[i]!] = value;
    return { ...advantagesOf(rewards, size, settings), advantages };
  };

/** Advantages of other settings than are declared. */
const other = (changes: Partial<AdvantageSettings>, settings: readonly string[]): LabRun => ({
  settings,
  stages: { advantage: (rewards, size, own) => advantagesOf(rewards, size, { ...own, ...changes }) },
});

const sometimesSilent = () =>
  lettersTask({
    rewards: { right: (completion) => (completion.length % 3 === 0 ? null : completion.length / 10) },
  });

export const advantageFaults: readonly PlantedFault[] = [
  {
    code: 'B29',
    variants: [
      {
        name: 'a reward without opinion makes its group NaN',
        run: () => ({
          task: sometimesSilent(),
          stages: {
            advantage: within((reward, group) => (reward - mean(group)) / (deviation(group, 1) + 1e-4)),
          },
        }),
      },
      {
        name: 'a reward without opinion counts as 0',
        run: () => ({
          task: sometimesSilent(),
          stages: {
            advantage: (rewards, size, settings) => {
              const totals = rewards.totals.map((reward) => (Number.isNaN(reward) ? 0 : reward));
              return advantagesOf({ ...rewards, totals }, size, settings);
            },
          },
        }),
      },
    ],
  },
  {
    code: 'B31',
    variants: [
      {
        name: 'every n-th completion',
        run: () => ({
          stages: { advantage: regrouped((i, B, size) => (i % size) * (B / size) + Math.floor(i / size)) },
        }),
      },
      {
        name: 'groups begin one completion late',
        run: () => ({ stages: { advantage: regrouped((i, B) => (i + 1) % B) } }),
      },
    ],
  },
  {
    code: 'B32',
    variants: [
      {
        name: 'after the group’s mean',
        run: () => ({
          stages: {
            advantage: advantage((rewards, size) => {
              const centred = rewards.map((reward, b) => reward - mean(groupAt(rewards, b, size)));
              return scaledBy(centred, deviation(centred, 1) + 1e-8);
            }),
          },
        }),
      },
      {
        name: 'in place of the group’s mean',
        run: () => ({
          stages: { advantage: advantage((rewards) => scaledBy(rewards, deviation(rewards, 1) + 1e-8)) },
        }),
      },
    ],
  },
  {
    code: 'B33',
    variants: [
      {
        name: 'population deviation',
        run: () => ({
          stages: {
            advantage: within((reward, group) => (reward - mean(group)) / (deviation(group, 0) + 1e-4)),
          },
        }),
      },
      {
        name: 'a deviation of at least 0.5',
        run: () => ({
          stages: {
            advantage: within((reward, group) => (reward - mean(group)) / Math.max(0.5, deviation(group, 1))),
          },
        }),
      },
      {
        name: 'ε 1e-8 on rewards that differ by rounding',
        run: () => ({
          task: lettersTask({ rewards: { even: (completion) => (completion.length % 2 ? 0.1 + 0.2 : 0.3) } }),
          stages: {
            advantage: within((reward, group) => (reward - mean(group)) / (deviation(group, 1) + 1e-17)),
          },
        }),
        orAs: ['B20', 'B30'],
      },
      {
        name: 'the group’s mean where that of the others is declared',
        run: () => other({ baseline: 'group' }, ['advantage.baseline=leave_one_out', 'advantage.scale=none']),
      },
      {
        name: 'the deviation where the mean is declared',
        run: () => other({ scale: 'group' }, ['advantage.scale=mean']),
      },
      {
        name: 'the mean where the deviation is declared',
        run: () => other({ scale: 'mean' }, []),
      },
      {
        name: 'rewards summed first where each is to be compared',
        run: () => other({ combine: 'sum_then_normalize' }, ['advantage.combine=normalize_then_sum']),
      },
      {
        name: 'not clipped',
        run: () => other({ clip: undefined }, ['advantage.clip=0.5']),
      },
    ],
  },
  {
    code: 'B34',
    variants: [
      {
        name: 'the raw reward where the deviation is small',
        run: () => ({
          settings: ['rollout.temperature=0.5'],
          stages: {
            advantage: within((reward, group) =>
              deviation(group, 1) < 0.2 ? reward : (reward - mean(group)) / (deviation(group, 1) + 1e-4),
            ),
          },
        }),
      },
      {
        name: 'the reward divided by the deviation',
        run: () => ({
          stages: { advantage: within((reward, group) => reward / (deviation(group, 1) + 1e-4)) },
        }),
      },
    ],
  },
];
