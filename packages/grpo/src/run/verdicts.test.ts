import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { tempFolder } from '../formats/temp-folder.test.helper.js';
import { train } from '../library/run.js';
import { defineTask } from '../tasks/define.js';
import { readStepRecord } from '../trace/index.js';
import { tinyModelFolder } from './tiny-model.test.helper.js';

interface Row {
  completion: string;
  rewards: Record<string, number>;
  reward_parts: Record<string, Record<string, number>>;
  reward_rules: Record<string, string>;
}

it('carries parts and rules into metrics, completions, records and evaluations', async () => {
  const task = defineTask({
    name: 'grounds',
    rows: ['ab', 'cd', 'ef', 'gh'],
    prompt: (row) => row,
    isCorrect: () => false,
    rewards: {
      letters: (completion) => {
        const distinct = new Set(completion).size;
        return {
          value: distinct + 0.1 * completion.length,
          parts: { distinct, length: completion.length },
          rule: distinct > 4 ? 'many letters' : 'few letters',
        };
      },
      plain: (completion) => completion.length,
    },
    evalSize: 1,
  });
  const output = join(tempFolder(), 'run');
  const metrics: Record<string, number>[] = [];
  await train({
    model: await tinyModelFolder(),
    task,
    output,
    settings: {
      train: { steps: 1 },
      rollout: { prompts: 2, group: 3, maxNewTokens: 6 },
      // The length is one more reward, which says nothing of its grounds.
      groups: { overlongBuffer: 2 },
      eval: { before: false, limit: 1 },
      threads: 1,
    },
    onNote: () => undefined,
    onStep: (row) => metrics.push(row),
  });
  const rowsOf = (file: string) =>
    readFileSync(join(output, file), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Row);
  const rows = rowsOf('completions.jsonl');
  expect(rows).toHaveLength(6);
  for (const row of [...rows, ...rowsOf('eval-completions.jsonl')]) {
    const distinct = new Set(row.completion).size;
    expect(row.reward_parts).toEqual({ letters: { distinct, length: row.completion.length } });
    expect(row.reward_rules).toEqual({ letters: distinct > 4 ? 'many letters' : 'few letters' });
    expect(row.rewards.letters).toBeCloseTo(distinct + 0.1 * row.completion.length, 12);
  }
  const parts = rows.map((row) => row.reward_parts.letters!);
  const mean = (part: string) => parts.reduce((sum, own) => sum + own[part]!, 0) / parts.length;
  expect(metrics[0]!['rewards/letters/distinct/mean']).toBeCloseTo(mean('distinct'), 12);
  expect(metrics[0]!['rewards/letters/length/mean']).toBeCloseTo(mean('length'), 12);
  expect(Object.keys(metrics[0]!).filter((key) => key.startsWith('rewards/plain/'))).toEqual([
    'rewards/plain/mean',
    'rewards/plain/std',
  ]);

  const { rewards } = readStepRecord(join(output, 'steps/000001'));
  expect(rewards!.names).toEqual(['letters', 'plain', 'overlong']);
  expect(rewards!.parts).toEqual(
    ['distinct', 'length'].map((part) => ({
      reward: 'letters',
      part,
      values: Float64Array.from(parts, (own) => own[part]!),
    })),
  );
  const none = rows.map(() => null);
  expect(rewards!.rules).toEqual([rows.map((row) => row.reward_rules.letters), none, none]);
});
