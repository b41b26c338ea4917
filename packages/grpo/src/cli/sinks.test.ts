import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { tempFolder } from '../formats/temp-folder.test.helper.js';
import { grpo, start } from './grpo.test.helper.js';

const columnsOf = (text: string) =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => line.split(',', 2)[0]);

it('a run that is killed in the middle of its sinks, and resumed, gives them each step once', async () => {
  const cwd = tempFolder();
  const sizes = [
    'rollout.prompts=2',
    'rollout.group=2',
    'rollout.maxNewTokens=8',
    'eval.limit=2',
    'eval.every=4',
  ];
  const killed = start(cwd, [
    'train',
    'task.name=arithmetic',
    ...sizes,
    'train.steps=12',
    'checkpoint.every=3',
    'sinks=[csv, tensorboard]',
    'output=run',
  ]);
  await killed.says('step 8/12');
  killed.child.kill('SIGKILL');
  expect((await killed.ended).signal).toBe('SIGKILL');
  const resumed = await grpo(cwd, 'train', '--resume', 'run');
  expect(resumed.code, resumed.err).toBe(0);
  const steps = Array.from({ length: 12 }, (_, i) => String(i + 1));
  expect(columnsOf(readFileSync(join(cwd, 'run/csv/metrics.csv'), 'utf8'))).toEqual(['step', ...steps]);
  expect(columnsOf(readFileSync(join(cwd, 'run/csv/eval.csv'), 'utf8'))).toEqual([
    'step',
    '0',
    '4',
    '8',
    '12',
  ]);
  const doctor = await grpo(cwd, 'doctor', 'run/tensorboard');
  expect(doctor.out).toContain('12 log entries');
}, 120_000);
