import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { configSchema } from '../config/schema.js';
import { tempFolder } from '../formats/temp-folder.test.helper.js';
import { groundsOf, partColumns } from './grounds.js';
import { loadReward } from './load-reward.js';
import type { Reward, RewardBatch, RewardFunction, RewardValue } from './reward.js';
import { totals } from './reward-table.js';
import { scoreCompletions } from './score.js';

const batch: RewardBatch = {
  prompts: ['p', 'p', 'q', 'q'],
  completions: ['a', 'bb', 'ccc', 'dddd'],
  rows: [{}, {}, {}, {}],
};
const verdicts: RewardFunction = (): RewardValue[] => [
  { value: 1, parts: { format: 1, answer: 0.5 }, rule: 'numbers equal' },
  { value: null, rule: 'gold not a number' },
  { value: -2, parts: { answer: -1 } },
  0.25,
];
const judged: Reward = { name: 'judged', weight: 2, score: verdicts };
const plain: Reward = { name: 'plain', weight: 1, score: () => [0, 1, 2, 3] };
const stop = { onError: 'stop' } as const;

describe('a verdict', () => {
  it('gives its value to the column, and its grounds beside it', async () => {
    const table = await scoreCompletions([plain, judged], batch, stop);
    expect([...table.columns[1]!]).toEqual([1, Number.NaN, -2, 0.25]);
    expect([...totals(table)]).toEqual([2, 1, -2, 3.5]);
    expect(table.grounds).toEqual([
      [null, null, null, null],
      [
        { parts: { format: 1, answer: 0.5 }, rule: 'numbers equal' },
        { rule: 'gold not a number' },
        { parts: { answer: -1 } },
        null,
      ],
    ]);
    expect(partColumns(table)).toEqual([
      { reward: 'judged', part: 'answer', values: Float64Array.of(0.5, Number.NaN, -1, Number.NaN) },
      { reward: 'judged', part: 'format', values: Float64Array.of(1, Number.NaN, Number.NaN, Number.NaN) },
    ]);
    expect([0, 1, 2, 3].map((b) => groundsOf(table, b))).toEqual([
      {
        reward_parts: { judged: { format: 1, answer: 0.5 } },
        reward_rules: { judged: 'numbers equal' },
      },
      { reward_rules: { judged: 'gold not a number' } },
      { reward_parts: { judged: { answer: -1 } } },
      {},
    ]);
  });

  it('leaves no trace where all values are numbers', async () => {
    const table = await scoreCompletions([plain], batch, stop);
    expect(table).not.toHaveProperty('grounds');
    expect(partColumns(table)).toEqual([]);
  });

  it.each<[unknown, string]>([
    [{ value: Number.NaN }, 'returned a verdict whose value is NaN, not a finite number'],
    [{ value: '1' }, "returned a verdict whose value is '1', not a finite number"],
    [{ score: 1 }, 'returned { score: 1 }, not a finite number'],
    [{ value: 1, parts: [1] }, 'returned a verdict whose parts are [Array], not numbers by name'],
    [{ value: 1, parts: { a: null } }, "returned a verdict whose part 'a' is null, not a finite number"],
    [{ value: 1, parts: { a: Infinity } }, "returned a verdict whose part 'a' is Infinity"],
    [{ value: 1, rule: '' }, "returned a verdict whose rule is '', not a text of 1 to 200 characters"],
    [{ value: 1, rule: 3 }, 'returned a verdict whose rule is 3, not a text'],
    [{ value: 1, rule: 'x'.repeat(201) }, 'more characters, not a text of 1 to 200 characters'],
  ])('%j is a failure of its completion alone', async (wrong, reason) => {
    const score = (() => [0, wrong, 1, 2]) as RewardFunction;
    const table = await scoreCompletions([{ name: 'mine', weight: 1, score }], batch, { onError: 'drop' });
    expect(table.failures).toEqual([expect.objectContaining({ index: 1, affected: 1 })]);
    expect(table.failures[0]!.reason).toContain(reason.replace('[Array]', '[ 1 ]').slice(0, 40));
    expect([...table.unscored]).toEqual([0, 1, 0, 0]);
    expect([...table.columns[0]!]).toEqual([0, Number.NaN, 1, 2]);
  });

  it('takes a rule of 200 characters', async () => {
    const score: RewardFunction = ({ rows }) => rows.map(() => ({ value: 1, rule: 'x'.repeat(200) }));
    const table = await scoreCompletions([{ name: 'mine', weight: 1, score }], batch, stop);
    expect(table.failures).toEqual([]);
  });

  it('comes through a worker whole', async () => {
    const module = join(tempFolder(), 'judge.mjs');
    writeFileSync(
      module,
      `import { each } from 'grpo/rewards';
export default each((completion, row, prompt) => {
  if (completion === 'bb') throw new Error('no');
  return { value: completion.length, parts: { letters: completion.length }, rule: 'counted ' + prompt };
});\n`,
    );
    const [config] = configSchema.parse({ rewards: [{ module, timeoutSeconds: 20 }] }).rewards;
    using reward = await loadReward(config!);
    const table = await scoreCompletions([reward], batch, { onError: 'drop' });
    expect(table.grounds).toEqual([
      [
        { parts: { letters: 1 }, rule: 'counted p' },
        null,
        { parts: { letters: 3 }, rule: 'counted q' },
        { parts: { letters: 4 }, rule: 'counted q' },
      ],
    ]);
    expect([...table.unscored]).toEqual([0, 1, 0, 0]);
  });
});

describe('completion ids', () => {
  it('reach the function, also when a failed batch is scored singly', async () => {
    const seen: unknown[] = [];
    const score: RewardFunction = ({ completionIds, completions }) => {
      seen.push(completionIds);
      if (completions.includes('bb')) throw new Error('no');
      return completions.map(() => 0);
    };
    const ids = [[1], [2, 3], [4], [5]];
    await scoreCompletions(
      [{ name: 'mine', weight: 1, score }],
      { ...batch, completionIds: ids },
      { onError: 'drop' },
    );
    expect(seen).toEqual([ids, [[1]], [[2, 3]]]);
    await expect(scoreCompletions([plain], { ...batch, completionIds: [[1]] }, stop)).rejects.toThrow(
      'the ids of 1 completions',
    );
  });
});
