import { describe, expect, it } from 'vitest';
import { resolveConfig } from '../config/index.js';
import type { RewardFailure } from '../rewards/index.js';
import { Supply } from '../tasks/order/supply.js';
import type { Problem } from '../tasks/task.js';
import { Batch, type StoredGroup } from './batch.js';
import { exchangeFlat } from './exchange.js';
import { joinGroups } from './groups.js';
import { ReplayStore } from './replay-store.js';

/** A group of two completions of 3 tokens, with these rewards; its prompt has 2 tokens. */
function groupOf(problem: Problem, rewards: readonly number[], failures: RewardFailure[] = []): Batch {
  const values = Float64Array.from(rewards);
  return new Batch({
    problems: [problem],
    prompts: [{ text: String(problem.row), ids: [1, 2], spans: [] }],
    completions_B: rewards.map((reward) => {
      const logprobs = new Float32Array(3);
      return {
        ids: [3, 4, 5],
        text: String(reward),
        finishReason: 'stop',
        logprobs,
        sampledLogprobs: logprobs,
      };
    }),
    rewardTable: {
      names: ['r'],
      weights: [1],
      columns: [values],
      ...(rewards.some((reward) => reward > 1) && {
        grounds: [rewards.map((reward) => ({ rule: `worth ${reward}` }))],
      }),
      unscored: Uint8Array.from(values, (value) => (Number.isNaN(value) ? 1 : 0)),
      failures,
    },
  });
}

const problems = Array.from({ length: 20 }, (_, i): Problem => ({ prompt: String(i), row: i }));
const flat = [1, 1];
const mixed = [0, 1];

const together = (groups: readonly Batch[]) => joinGroups(groups, groups[0]!.rewardTable, []);

/** A trainer, the step's own groups, and draws that give these rewards, round by round. */
function stepOf(
  settings: readonly string[],
  own: readonly number[][],
  rounds: readonly number[][][] = [],
  stored: readonly StoredGroup[] = [],
) {
  const { config } = resolveConfig({
    command: 'train',
    settings: ['task.name=arithmetic', 'objective.oldLogprobs=sampler', 'rollout.group=2', ...settings],
  });
  const progress = { problems: own.length };
  const supply = new Supply(problems, 0, progress);
  const asked: { places: number[]; count: number }[] = [];
  const draw = async (wanted: readonly Problem[], place: number) => {
    const rewards = rounds[asked.length]!;
    asked.push({ places: wanted.map((_, i) => place + i), count: wanted.length });
    return together(wanted.map((problem, i) => groupOf(problem, rewards[i]!)));
  };
  const drawn = together(own.map((rewards, i) => groupOf({ prompt: 'own', row: `own ${i}` }, rewards)));
  const replay = new ReplayStore(config.groups.replay, stored);
  return {
    drawn,
    asked,
    progress,
    run: () => exchangeFlat({ config, supply, replay }, drawn, 7, draw),
  };
}

const rewardsOf = ({ rewards_B }: Batch) => [...rewards_B];
const rowsOf = ({ problems: all }: Batch) => all.map(({ row }) => row);

describe('refilling', () => {
  it('does nothing where every group teaches', async () => {
    const well = stepOf(['groups.refills=3'], [mixed, mixed]);
    const drawn = await well.run();
    const { exchange } = drawn;
    expect(drawn).toBe(well.drawn);
    expect(exchange).toMatchObject({ sampled: 2, refilled: 0, flat: [] });
    expect(well.asked).toEqual([]);
  });

  it('lets flat groups give way to those of further problems, each with draws of its own', async () => {
    const step = stepOf(
      ['groups.refills=3'],
      [flat, mixed, flat, flat],
      [[flat, [2, 3], flat], [flat, [4, 5]], [[6, 7]]],
    );
    const drawn = await step.run();
    const { exchange } = drawn;
    expect(rewardsOf(drawn)).toEqual([2, 3, 0, 1, 4, 5, 6, 7]);
    expect(rewardsOf(exchange!.own)).toEqual([1, 1, 0, 1, 1, 1, 1, 1]);
    // Groups without grounds have none in the joined table.
    expect(drawn.rewardTable.grounds).toEqual([
      [2, 3, null, null, 4, 5, 6, 7].map((reward) => reward && { rule: `worth ${reward}` }),
    ]);
    expect(step.asked.map(({ places }) => places)).toEqual([[4, 5, 6], [7, 8], [9]]);
    expect(step.progress.problems).toBe(4 + 6);
    expect(exchange).toMatchObject({ sampled: 10, refilled: 3, flat: [], tokens: 10 * 2 * (2 + 3) });
    expect(exchange!.replayed.size).toBe(0);
    expect(drawn.tokens).toBe(40);
  });

  it('stops at its bound, and leaves the rest as it was drawn', async () => {
    const step = stepOf(['groups.refills=1'], [flat, mixed, [0, 0]], [[mixed, flat]]);
    const drawn = await step.run();
    const { exchange } = drawn;
    expect(rewardsOf(drawn)).toEqual([0, 1, 0, 1, 0, 0]);
    expect(rowsOf(drawn).slice(1)).toEqual(['own 1', 'own 2']);
    expect(exchange).toMatchObject({ sampled: 5, refilled: 1, flat: [2] });
  });

  it('takes nearly equal rewards for flat where advantage.flatBelow says so', async () => {
    const near = [[0, 0.1], mixed];
    const strict = await stepOf(['groups.refills=1'], near).run();
    expect(strict.exchange!.sampled).toBe(2);
    const step = stepOf(['groups.refills=1', 'advantage.flatBelow=0.5'], near, [[mixed]]);
    expect((await step.run()).exchange).toMatchObject({ sampled: 3, refilled: 1 });
  });

  it('keeps what failed: with its place, or without one in a group that gave way', async () => {
    const failure = (index: number | null): RewardFailure => ({
      reward: 'r',
      index,
      affected: 1,
      prompt: '',
      completion: '',
      reason: `at ${index}`,
    });
    const step = stepOf(['groups.refills=1'], [flat, mixed], [[[2, 3]]]);
    const { names, weights, columns, unscored } = step.drawn.rewardTable;
    const failures = [failure(null), failure(1), failure(3)];
    Object.assign(step.drawn, { rewardTable: { names, weights, columns, unscored, failures } });
    const drawn = await step.run();
    expect(drawn.rewardTable.failures.map(({ index, reason }) => [index, reason])).toEqual([
      [3, 'at 3'],
      [null, 'at null'],
      [null, 'at 1'],
    ]);
  });
});

describe('replaying', () => {
  const old = { group: groupOf({ prompt: 'old', row: 'old' }, [8, 9]), old: undefined, step: 2, score: 1 };

  it('puts stored groups where refilling left flat ones, as far as there are any', async () => {
    const settings = ['groups.refills=1', 'groups.replay=4'];
    const step = stepOf(settings, [flat, flat, flat, mixed], [[flat, mixed, flat]], [old]);
    const drawn = await step.run();
    const { exchange } = drawn;
    expect(rewardsOf(drawn)).toEqual([0, 1, 8, 9, 1, 1, 0, 1]);
    expect([...exchange!.replayed]).toEqual([[1, old]]);
    expect(exchange).toMatchObject({ flat: [2], refilled: 1, sampled: 7 });
    // Replayed groups were sampled, and counted, before.
    expect(exchange!.tokens).toBe(7 * 10);
  });

  it('weighs the rewards as this step does', async () => {
    const rewardTable = { ...old.group.rewardTable, weights: [5] };
    const heavy = { ...old, group: new Batch({ ...old.group, rewardTable }) };
    const drawn = await stepOf(['groups.replay=4'], [flat, mixed], [], [heavy]).run();
    expect(drawn.rewardTable.weights).toEqual([1]);
    expect(rewardsOf(drawn)).toEqual([8, 9, 0, 1]);
  });

  it('is refused for groups with other rewards', async () => {
    const rewardTable = { ...old.group.rewardTable, names: ['other'] };
    const other = { ...old, group: new Batch({ ...old.group, rewardTable }) };
    const step = stepOf(['groups.replay=4'], [flat, mixed], [], [other]);
    await expect(step.run()).rejects.toThrow("stored groups have the rewards other, this step's have r");
  });
});

describe('a loop of its own', () => {
  it.each(['refills', 'replay'] as const)('is told what groups.%s needs', async (key) => {
    const { config } = resolveConfig({
      command: 'train',
      settings: ['task.name=arithmetic', 'objective.oldLogprobs=sampler', `groups.${key}=1`],
    });
    const own = groupOf(problems[0]!, flat);
    await expect(exchangeFlat({ config }, own, 0, async () => own)).rejects.toThrow(
      `groups.${key} is set, and the trainer has nothing to do it with`,
    );
  });
});
