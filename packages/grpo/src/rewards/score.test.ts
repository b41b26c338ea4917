import { describe, expect, it, vi } from 'vitest';
import { each } from './each.js';
import { RewardError } from './failure.js';
import type { Reward, RewardBatch, RewardFunction } from './reward.js';
import { totals } from './reward-table.js';
import { scoreCompletions } from './score.js';

const batch: RewardBatch = {
  prompts: ['p0', 'p0', [{ role: 'user', content: 'p1' }], [{ role: 'user', content: 'p1' }]],
  completions: ['a', 'bb', 'ccc', 'dddd'],
  rows: [{ n: 0 }, { n: 0 }, { n: 1 }, { n: 1 }],
};
const reward = (score: RewardFunction, weight = 1, name = 'mine'): Reward => ({ name, weight, score });
const lengths = reward(({ completions }) => completions.map((c) => c.length), 2, 'length');
const drop = { onError: 'drop' } as const;
const stop = { onError: 'stop' } as const;

/** The error of a promise that must reject. */
async function rejection(promise: Promise<unknown>): Promise<RewardError> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(RewardError);
  return error as RewardError;
}

describe('scoreCompletions', () => {
  it('gives one column a reward, in order, and totals are weighted sums', async () => {
    const slow = reward(async ({ rows }) => {
      await new Promise((resolve) => setTimeout(resolve, 5));
      return rows.map((row) => Number(row.n));
    }, -0.5);
    const table = await scoreCompletions([slow, lengths], batch, stop);
    expect(table.names).toEqual(['mine', 'length']);
    expect(table.weights).toEqual([-0.5, 2]);
    expect(table.columns.map((c) => [...c])).toEqual([
      [0, 0, 1, 1],
      [1, 2, 3, 4],
    ]);
    expect([...totals(table)]).toEqual([2, 4, 5.5, 7.5]);
    expect(table.failures).toEqual([]);
  });

  it('runs the functions concurrently', async () => {
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const first = reward(async ({ completions }) => {
      await released;
      return completions.map(() => 1);
    });
    const second = reward(({ completions }) => {
      release();
      return completions.map(() => 2);
    });
    const table = await scoreCompletions([first, second], batch, stop);
    expect([...totals(table)]).toEqual([3, 3, 3, 3]);
  });

  it('takes null as no opinion: it adds nothing, and a completion without any value has no total', async () => {
    const some = reward(() => [null, 1, null, 0]);
    expect([...totals(await scoreCompletions([some], batch, stop))]).toEqual([NaN, 1, NaN, 0]);
    const table = await scoreCompletions([some, lengths], batch, stop);
    expect([...table.columns[0]!]).toEqual([NaN, 1, NaN, 0]);
    expect([...totals(table)]).toEqual([2, 5, 6, 8]);
    expect(table.failures).toEqual([]);
  });

  it('only logs a reward of weight 0: it makes no total and its failure drops nothing', async () => {
    const logged = reward(() => [5, Number.NaN, 5, 5], 0);
    const table = await scoreCompletions([logged, lengths], batch, drop);
    expect([...totals(table)]).toEqual([2, 4, 6, 8]);
    expect(table.failures).toHaveLength(1);
    const alone = await scoreCompletions([reward(() => [5, 5, 5, 5], 0)], batch, drop);
    expect([...totals(alone)]).toEqual([NaN, NaN, NaN, NaN]);
  });

  it.each([
    ['NaN', Number.NaN],
    ['Infinity', Number.POSITIVE_INFINITY],
    ["'1'", '1'],
    ['undefined', undefined],
    ['true', true],
    ['1n', 1n],
  ])('reports the value %s with its completion, and gives it no total', async (shown, value) => {
    const bad = reward(() => [1, 1, value as number, 1], 1, 'judge');
    const table = await scoreCompletions([bad, lengths], batch, drop);
    expect(table.failures).toEqual([
      {
        reward: 'judge',
        index: 2,
        affected: 1,
        prompt: '"p1"',
        completion: '"ccc"',
        reason: `returned ${shown}, not a finite number`,
      },
    ]);
    expect([...totals(table)]).toEqual([3, 5, NaN, 9]);
    const error = await rejection(scoreCompletions([bad, lengths], batch, stop));
    expect(error.message).toContain(`reward judge, completion 2: returned ${shown}`);
    expect(error.message).toContain('completion: "ccc"');
    expect(error.hint).toContain('onRewardError=drop');
  });

  it('shows three failures and counts the rest', async () => {
    const error = await rejection(scoreCompletions([reward(() => [NaN, NaN, NaN, NaN])], batch, stop));
    expect(error.message.match(/completion \d/g)).toEqual(['completion 0', 'completion 1', 'completion 2']);
    expect(error.message).toMatch(/\nand 1 more$/);
    expect(error.failures).toHaveLength(4);
  });

  it('finds the completion that makes a batch function throw; the whole batch is then without a total', async () => {
    const fragile = reward(({ completions }) => {
      return completions.map((c) => {
        if (c === 'bb') throw new TypeError('no bs');
        return 1;
      });
    });
    const table = await scoreCompletions([fragile, lengths], batch, drop);
    expect(table.failures).toHaveLength(1);
    expect(table.failures[0]).toMatchObject({ index: 1, affected: 4, completion: '"bb"' });
    expect(table.failures[0]!.reason).toMatch(/^threw TypeError: no bs \(.*score\.test\.[jt]s:\d+:\d+\)$/);
    expect([...totals(table)]).toEqual([NaN, NaN, NaN, NaN]);
  });

  it('finds the completion that makes the length wrong', async () => {
    const filter = reward(({ completions }) => completions.filter((c) => c !== 'ccc').map(() => 1));
    const error = await rejection(scoreCompletions([filter], batch, stop));
    expect(error.failures[0]).toMatchObject({
      index: 2,
      reason:
        'returned 3 values for 4 completions; for this completion alone it returned 0 values for 1 completion',
    });
    expect(error.message).toContain('so its batch of 4 has no value');
  });

  it('says so when no single completion is to blame', async () => {
    const one = reward(() => [1]);
    const error = await rejection(scoreCompletions([one], batch, stop));
    expect(error.failures).toEqual([
      {
        reward: 'mine',
        index: null,
        affected: 4,
        prompt: '"p0"',
        completion: '"a"',
        reason: 'returned 1 value for 4 completions; no completion alone does that',
      },
    ]);
    expect(error.message).toContain('reward mine, batch of 4:');
  });

  it('reports results that are no array, and thrown things that are no errors', async () => {
    const none = reward((() => undefined) as unknown as RewardFunction);
    const thrower = reward(() => Promise.reject('tired'));
    const table = await scoreCompletions([none, thrower], batch, drop);
    expect(table.failures.map((f) => f.reason)).toEqual([
      expect.stringMatching(/^returned undefined, not an array of numbers: .*each\(…\)/),
      "threw 'tired'",
    ]);
    expect([...totals(table)]).toEqual([NaN, NaN, NaN, NaN]);
  });

  it('shows the beginning of a long message, in one line', async () => {
    const verbose = reward(() => {
      throw new Error(`not equal:\n  ${'x'.repeat(100_000)}`);
    });
    const table = await scoreCompletions([verbose], batch, drop);
    expect(table.failures[0]!.reason).toMatch(/^threw Error: not equal: x{589}… \(/);
  });

  it('gives each function its own arrays', async () => {
    const vandal = reward(({ completions }) => completions.splice(0).map(() => 0));
    const table = await scoreCompletions([vandal, lengths], batch, stop);
    expect([...table.columns[1]!]).toEqual([1, 2, 3, 4]);
    expect(batch.completions).toHaveLength(4);
  });

  it('refuses prompts, rows and completions of different number', async () => {
    await expect(scoreCompletions([lengths], { ...batch, prompts: ['p'] }, drop)).rejects.toThrow(
      'got 1 prompts, 4 rows and 4 completions',
    );
  });
});

describe('each', () => {
  it('scores every completion with its own row and prompt, concurrently and in order', async () => {
    const score = each(async (completion, row, prompt) => {
      await new Promise((resolve) => setTimeout(resolve, 5 - completion.length));
      return completion.length + 10 * Number(row.n) + (typeof prompt === 'string' ? 0 : 100);
    });
    expect(await score(batch)).toEqual([1, 2, 113, 114]);
  });

  it('loses only the completions that fail, and names each', async () => {
    const picky = each((completion) => {
      if (completion.length === 2) throw new Error('two');
      return completion.length === 3 ? Number.NaN : 1;
    });
    const table = await scoreCompletions([reward(picky), lengths], batch, drop);
    expect([...totals(table)]).toEqual([3, NaN, NaN, 9]);
    expect(table.failures.map(({ index, affected }) => [index, affected])).toEqual([
      [1, 1],
      [2, 1],
    ]);
    expect(table.failures[0]!.reason).toMatch(/^threw Error: two \(.*score\.test\.[jt]s:\d+:\d+\)$/);
    expect(table.failures[1]!.reason).toBe('returned NaN, not a finite number');
  });
});

it('charges each function with its own seconds alone', async () => {
  let now = 0;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now);
  const judge = async ({ completions }: RewardBatch) => {
    now += 1;
    await new Promise((resolve) => setTimeout(resolve, 5));
    now += 20;
    return completions.map(() => 0);
  };
  const slow = ({ completions }: RewardBatch) => {
    now += 3000;
    return completions.map(() => 1);
  };
  const { seconds } = await scoreCompletions(
    [reward(judge, 1, 'judge'), reward(slow, 1, 'slow')],
    batch,
    drop,
  ).finally(() => clock.mockRestore());
  expect(seconds).toEqual({ judge: 0.021, slow: 3 });
});
