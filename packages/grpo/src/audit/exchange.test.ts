import { expect, it } from 'vitest';
import { resolveConfig } from '../config/index.js';
import { Batch, type Exchange } from '../step/batch.js';
import { batchOf } from './batch.test.helper.js';
import { compareExchange } from './exchange.js';

const { config } = resolveConfig({
  command: 'train',
  env: {},
  settings: ['task.name=arithmetic'],
});

/** What is apart where the own groups at some places were replaced by those of another batch. */
function apart(own: Batch, other: Batch, places: readonly number[], flat: readonly number[]): string[] {
  const { problems, prompts, rewardTable } = own;
  const of = <T>(a: ArrayLike<T>, b: ArrayLike<T>) =>
    Array.from(a, (value, i) => (places.includes(Math.floor(i / 2)) ? b[i]! : value));
  const columns = [Float64Array.from(of(rewardTable.columns[0]!, other.rewardTable.columns[0]!))];
  const batch = new Batch({
    problems,
    prompts,
    completions_B: of(own.completions_B, other.completions_B),
    rewardTable: { ...rewardTable, columns },
  });
  const exchange: Exchange = { own, sampled: 3, tokens: 6, refilled: 0, replayed: new Map(), flat };
  batch.exchange = exchange;
  return compareExchange(config, batch)
    .filter(({ deviation }) => deviation > 0)
    .map(({ quantity }) => quantity);
}

const own = batchOf([0, 1, 2, 2, 3, 3]);

it('a flat group that gives way agrees, one whose rewards differ does not', () => {
  const other = batchOf([5, 6, 5, 6, 5, 6]);
  expect(apart(own, other, [1], [2])).toEqual([]);
  expect(apart(own, other, [1, 2], [])).toEqual([]);
  expect(apart(own, other, [0, 1], [2])).toEqual(['fate of a group whose rewards differ']);
});

it('flat groups that stay are listed, and no others', () => {
  expect(apart(own, own, [], [1, 2])).toEqual([]);
  expect(apart(own, own, [], [1])).toEqual(['list of groups of equal rewards']);
  expect(apart(own, batchOf([4, 4, 4, 4, 4, 4]), [1], [2])).toEqual(['list of groups of equal rewards']);
});
