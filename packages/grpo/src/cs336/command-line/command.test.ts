import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Ended, grpo } from '../../cli/grpo.test.helper.js';
import { sharedFolder } from '../../formats/temp-folder.test.helper.js';

const MODEL = fileURLToPath(new URL('../../../../../parity/fixtures/models/llama3', import.meta.url));

const rows = (word: string) =>
  [1, 2, 3].map((n) => `${JSON.stringify({ question: `${word} ${n}`, answer: String(n) })}\n`).join('');

const dir = sharedFolder();
let run: Ended;
beforeAll(async () => {
  writeFileSync(join(dir, 'train.jsonl'), rows('a'));
  writeFileSync(join(dir, 'test.jsonl'), rows('b'));
  writeFileSync(join(dir, 'short.prompt'), '{question} <think>');
  const flags = [
    ...['--n-grpo-steps', '3', '--eval-steps', '2', '--rollout-batch-size', '8', '--train-batch-size', '16'],
    ...['--epochs-per-rollout-batch', '2', '--group-size', '4', '--gradient-accumulation-steps', '8'],
    ...[
      '--loss-type',
      'grpo_clip',
      '--cliprange',
      '0.1',
      '--model-path',
      MODEL,
      '--save-dir',
      'checkpoints/grpo',
    ],
    ...['--data-path', 'train.jsonl', '--val-data-path', 'test.jsonl', '--sampling-max-tokens', '6'],
  ];
  const settings = [
    'task.prompt=short.prompt',
    'checkpoint.every=2',
    'checkpoint.keep=1',
    'eval.before=false',
  ];
  run = await grpo(dir, 'train', '--preset', 'cs336', ...flags, ...settings);
}, 60_000);
describe('grpo train --preset cs336', () => {
  it('trains on rows of the assignment, and says how it read the sizes', () => {
    expect(run.code, run.err).toBe(0);
    const said = run.out + run.err;
    expect(said).toContain('is read as 2 × 8: 2 updates of 8 completions from each rollout');
    expect(said).toContain('2 completions of up to 6 tokens become train.microBatchTokens=12');
  });

  it('leaves models under the names of the assignment', () => {
    const names = readdirSync(join(dir, 'checkpoints/grpo'));
    expect(names).toEqual(expect.arrayContaining(['checkpoint_step_2', 'final_model', 'metrics.jsonl']));
    expect(names).not.toContain('checkpoint_step_3');
    expect(readdirSync(join(dir, 'checkpoints/grpo/final_model'))).toContain('model.safetensors');
  });

  it('writes down where each value is from', () => {
    const { values } = JSON.parse(readFileSync(join(dir, 'checkpoints/grpo/config.json'), 'utf8'));
    expect(values).toMatchObject({
      preset: { value: 'cs336', source: '--preset' },
      'task.grading': { value: 'r1_zero', source: '--data-path' },
      'train.steps': { value: 3, source: '--n-grpo-steps' },
      'objective.iterations': { value: 2, source: '--epochs-per-rollout-batch' },
      'objective.oldLogprobs': { value: 'recompute', source: '--epochs-per-rollout-batch' },
      'optimizer.learningRate': {
        value: 1e-5,
        source: 'preset cs336 (CS336 assignment 5, grpo_train_loop.py)',
      },
      'rollout.topP': { value: 1, source: 'preset cs336 (CS336 assignment 5, handout section 7)' },
    });
  });

  it('goes on with its own settings, under the same names, and with no other preset', async () => {
    const other = await grpo(dir, 'train', '--preset', 'dapo', '--resume', 'checkpoints/grpo');
    expect(other).toMatchObject({
      code: 2,
      err: expect.stringContaining('holds a run with preset=cs336, which cannot'),
    });
    const more = await grpo(dir, 'train', '--resume', 'checkpoints/grpo', 'train.steps=4');
    expect(more.code, more.err).toBe(0);
    expect(readdirSync(join(dir, 'checkpoints/grpo'))).toEqual(
      expect.arrayContaining(['checkpoint_step_2', 'checkpoint_step_4', 'final_model']),
    );
  });
});
