import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { schemaAt } from '../config/keys.js';
import { rewardProblem } from '../config/reward-kinds.js';
import { configSchema } from '../config/schema.js';
import { sharedFolder } from '../formats/temp-folder.test.helper.js';
import { loadReward } from './load-reward.js';
import type { RewardBatch } from './reward.js';
import { scoreCompletions } from './score.js';

const FILES = {
  'a.mjs': 'export default ({ completions }) => completions.map((text) => text.length);',
  'b.mjs': 'export default ({ completions }) => completions.map((text) => -text.length);',
  'slow.mjs':
    'export default async ({ completions }) => { await new Promise((r) => setTimeout(r, 200)); return completions.map(() => 1); };',
  'parts.mjs':
    'export default ({ completions }) => completions.map(() => ({ value: 1, parts: { x: 1, y: 2, missed: 1, over: 0.5 } }));',
};

/** For each key of a reward: two rewards that differ by it alone. */
const table: Record<string, [object, object]> = {
  module: [
    { module: 'a.mjs', name: 'r' },
    { module: 'b.mjs', name: 'r' },
  ],
  builtin: [
    { builtin: 'accuracy', name: 'r' },
    { builtin: 'think-format', name: 'r' },
  ],
  model: [
    { model: 'org/one', name: 'r' },
    { model: 'org/other', name: 'r' },
  ],
  name: [{ module: 'a.mjs' }, { module: 'a.mjs', name: 'r' }],
  weight: [{ module: 'a.mjs' }, { module: 'a.mjs', weight: 2 }],
  timeoutSeconds: [
    { module: 'slow.mjs', timeoutSeconds: 60 },
    { module: 'slow.mjs', timeoutSeconds: 0.02 },
  ],
  components: [
    { module: 'parts.mjs', components: { x: 1 } },
    { module: 'parts.mjs', components: { y: 1 } },
  ],
  tiers: [
    { module: 'parts.mjs', tiers: { A: { missed: 1, over: 0 }, B: { missed: 0, over: 0 } } },
    { module: 'parts.mjs', tiers: { A: { missed: 0, over: 1 }, B: { missed: 0, over: 0 } } },
  ],
  tierKey: [
    { module: 'parts.mjs', tiers: { A: { missed: 1, over: 0 }, B: { missed: 0, over: 1 } } },
    {
      module: 'parts.mjs',
      tiers: { A: { missed: 1, over: 0 }, B: { missed: 0, over: 1 } },
      tierKey: 'other',
    },
  ],
  maxTokens: [
    { builtin: 'cosine-length', maxTokens: 9 },
    { builtin: 'cosine-length', maxTokens: 12 },
  ],
  ...Object.fromEntries(
    ['correctShort', 'correctLong', 'wrongShort', 'wrongLong'].map((key) => [
      key,
      [
        { builtin: 'cosine-length', maxTokens: 9 },
        { builtin: 'cosine-length', maxTokens: 9, [key]: 0.1 },
      ],
    ]),
  ),
  ngram: [{ builtin: 'repetition' }, { builtin: 'repetition', ngram: 1 }],
  maxPenalty: [
    { builtin: 'repetition', ngram: 1 },
    { builtin: 'repetition', ngram: 1, maxPenalty: -2 },
  ],
  buffer: [
    { builtin: 'overlong', maxTokens: 5, buffer: 3 },
    { builtin: 'overlong', maxTokens: 5, buffer: 4 },
  ],
};

const batch: RewardBatch = {
  prompts: ['p', 'p'],
  completions: ['<think>\\boxed{2}', 'so </think> \\boxed{2}'],
  completionIds: [
    [1, 1, 2, 3],
    [1, 1, 1],
  ],
  rows: [
    { answer: '2', tier: 'A', other: 'B' },
    { answer: '3', tier: 'A', other: 'B' },
  ],
};

const dir = sharedFolder();
beforeAll(() => {
  for (const [name, text] of Object.entries(FILES)) writeFileSync(join(dir, name), text);
});
/** Scores the batch by a reward of these settings. */
async function made(settings: object) {
  const { rewards } = configSchema.parse({ rewards: [settings] });
  const [entry] = rewards.map((one) => (one.module ? { ...one, module: join(dir, one.module) } : one));
  expect(rewardProblem(entry!)).toBeUndefined();
  const openModel = (model: string) => () => [model.length, 0];
  using reward = await loadReward(entry!, { openModel });
  return scoreCompletions([reward], batch, { onError: 'drop' });
}

describe('every key of a reward', () => {
  // A judge's settings are a section of their own, with tests of its own.
  const { judge: _, ...keys } = schemaAt(['rewards', 0])!.properties!;

  it('is in the table, and nothing else is', () => {
    expect(Object.keys(table).sort()).toEqual(Object.keys(keys).sort());
  });

  it('has help', () => {
    for (const [key, { description }] of Object.entries(keys))
      expect(description, key).toMatch(/^\S.{15,}[^.]$/);
  });

  it.each(Object.entries(table))('%s changes what is scored', async (_, [from, to]) => {
    const [a, b] = [await made(from), await made(to)];
    expect(b).not.toEqual(a);
    expect(a.failures).toEqual([]);
  });
});
