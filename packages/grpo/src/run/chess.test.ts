import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { resolveConfig } from '../config/index.js';
import { tempFolder } from '../formats/temp-folder.test.helper.js';
import type { MetricsRow } from '../observe/metrics.js';
import { generateRows } from '../tasks/chess/generate.js';
import { openRun } from './open-run.js';
import { tinyModelFolder } from './tiny-model.test.helper.js';
import { trainGrpo } from './train-grpo.js';

const PARTS = { A: ['schema', 'fen', 'validity'], P: ['best', 'candidates', 'evaluations'] };

const analyst = {
  best: async () => [{ move: 'e2e4', centipawns: 1 }],
  value: async () => 0,
};

it('begins from a tiny GPT-2 of its own where no model is given', async () => {
  const dir = tempFolder();
  const { train } = await generateRows({ games: 3, plies: 3, seed: 1, holdOut: false });
  writeFileSync(join(dir, 'chess.jsonl'), train.map((row) => `${JSON.stringify(row)}\n`).join(''));
  const settings = ['task.name=chess', `task.data=${join(dir, 'chess.jsonl')}`, 'task.evalSize=1'];
  const output = join(dir, 'run');
  const resolved = resolveConfig({ command: 'sft', settings: [...settings, `output=${output}`], env: {} });
  await using session = await openRun(resolved, { resume: false });
  const { family, maxPositions } = session.model.decoder.config;
  expect(family).toBe('gpt2');
  const longest = Math.max(...train.map(({ text }) => text.length));
  expect(maxPositions).toBeGreaterThan(longest + 1);
});

it('trains 20 steps on chess, P and A as kinds of their own', async () => {
  const dir = tempFolder();
  const { train, held } = await generateRows(
    { games: 10, plies: 3, seed: 1, holdOut: true },
    {
      ...analyst,
      best: async (fen) => (fen.includes(' w ') ? analyst.best() : [{ move: 'e7e5', centipawns: 1 }]),
    },
  );
  const write = (name: string, rows: readonly object[]) => {
    writeFileSync(join(dir, name), rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
    return join(dir, name);
  };
  const output = join(dir, 'run');
  const resolved = resolveConfig({
    command: 'train',
    settings: [
      `model=${await tinyModelFolder()}`,
      `output=${output}`,
      'task.name=chess',
      `task.data=${write('chess.jsonl', train)}`,
      `task.evalData=${write('held.jsonl', held)}`,
      'kl.kindKey=kind',
      'kl.beta=0.05',
      'train.steps=20',
      'rollout.prompts=2',
      'rollout.group=3',
      'rollout.maxNewTokens=12',
      'eval.limit=2',
      'doctor.onFinding=off',
      'threads=1',
    ],
    env: {},
  });
  const rows: MetricsRow[] = [];
  await using session = await openRun(resolved, {
    resume: false,
    watcher: { step: (row) => rows.push(row) },
  });
  await trainGrpo(session);
  expect(rows).toHaveLength(20);
  for (const row of rows) {
    expect(Number.isFinite(row.loss)).toBe(true);
    // Random letters: nothing of an A completion is right, and nothing of a P completion there.
    expect(row['rewards/chess/mean']).toBeGreaterThanOrEqual(-0.9);
    expect(row['rewards/chess/mean']).toBeLessThanOrEqual(0);
  }
  const completions = readFileSync(join(output, 'completions.jsonl'), 'utf8').trim().split('\n');
  expect(completions).toHaveLength(20 * 6);
  const kinds = new Set<string>();
  for (const line of completions) {
    const { prompt_text, reward, reward_parts, reward_rules } = JSON.parse(line);
    const kind = prompt_text[0] as 'A' | 'P';
    kinds.add(kind);
    expect(reward).toBeCloseTo({ A: -0.9, P: 0 }[kind], 1);
    expect(Object.keys(reward_parts.chess)).toEqual(PARTS[kind]);
    expect(reward_rules.chess).toEqual(expect.any(String));
  }
  expect(kinds).toEqual(new Set(['A', 'P']));
});
