/**
 * A step of ours for step_phases.py: its record, and the weights that took it, in fixtures/step-phases/ours/.
 *
 *     node parity/make_step_fixture.mjs      after `npx tsc -b`
 */
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineTask, train } from '../packages/grpo/dist/index.js';

const fixtures = fileURLToPath(new URL('fixtures/', import.meta.url));
const output = join(mkdtempSync(join(tmpdir(), 'step-fixture-')), 'run');
const into = join(fixtures, 'step-phases', 'ours');

const task = defineTask({
  name: 'even',
  rows: ['one', 'three', 'seven'],
  prompt: (row) => `${row}:`,
  // Of a model without training every eighth token: completions of all lengths.
  stop: [...'abcdefghijklmnopqrstuvwxyz012345'],
  rewards: {
    even: (completion) => [...completion].filter((char) => char.charCodeAt(0) % 2 === 0).length / 10,
    short: { each: (completion) => Number(completion.length < 9), weight: 0.5 },
  },
  evalRows: ['none'],
});

// The second step: there the policy has left the reference.
await train({
  model: join(fixtures, 'models', 'qwen2'),
  task,
  output,
  settings: {
    seed: 5,
    train: { steps: 2 },
    rollout: { prompts: 3, group: 4, maxNewTokens: 10, temperature: 0.8 },
    objective: { loss: 'grpo' },
    kl: { beta: 0.1 },
    optimizer: { learningRate: 0.003 },
    checkpoint: { every: 1, keep: 9 },
    eval: { before: false, limit: 1 },
  },
});
rmSync(into, { recursive: true, force: true });
cpSync(join(output, 'steps', '000002'), into, { recursive: true });
cpSync(join(output, 'checkpoints', 'step-1'), join(into, 'weights'), {
  recursive: true,
  filter: (path) => !path.endsWith('trainer'),
});
rmSync(join(output, '..'), { recursive: true });
