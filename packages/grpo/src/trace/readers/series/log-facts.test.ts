import { describe, expect, it } from 'vitest';
import { readText, steps } from '../files.test.helper.js';

const rows = [1, 2]
  .map((i) => `{'loss': 0.1${i}, 'reward': 0.5, 'reward_std': 0.1, 'epoch': 0.${i}}`)
  .join('\n');

describe('what a log says beside its metrics', () => {
  it('is its command with its settings', async () => {
    const { series, declared } = await readText(
      'a.log',
      `+ python train.py --num_generations 8 \\\n  --learning_rate=2e-6 actor.optim.kind="adam" --bf16\n${rows}\n`,
    );
    expect(series!.command).toBe(
      'python train.py --num_generations 8 --learning_rate=2e-6 actor.optim.kind="adam" --bf16',
    );
    expect(declared).toMatchObject({ rollout: { group: 8 }, optimizer: { learningRate: 2e-6 } });
  });

  it.each([
    ['an object of Python', "GRPOConfig(\nbeta=0.04,\nloss_type='dapo',\nnum_generations=4,\n)\n"],
    [
      'a dict of many lines',
      "(Task pid=7) {'algorithm': {'kind': 'grpo'},\n(Task pid=7)  'model': {'depth': 2},\n(Task pid=7)  'beta': 0.04,\n(Task pid=7)  'group_size': 4}\n",
    ],
    ['a row of its own', '{"config": {"beta": 0.04, "group_size": 4}}\n'],
    ['one line', 'GRPO prompts/step=8 group_size=4 mu=2 beta=0.04 eps=0.2\n'],
    ['lines', 'KL beta: 0.04\nRollouts per prompt = 4\n'],
  ])('are the settings in %s', async (_, text) => {
    const { declared } = await readText('a.log', `${text}${rows}\n`);
    expect(declared).toMatchObject({ rollout: { group: 4 }, kl: { beta: 0.04 } });
  });

  it.each([
    [1, 64],
    [4, 16],
  ])('are %d updates from a rollout of 64 in batches of %d', async (updates, batch) => {
    const text = `Namespace(rollout_batch_size=64, train_batch_size=${batch}, epochs_per_rollout_batch=1)\n`;
    expect((await readText('a.log', text + rows)).declared!.updatesPerRollout).toBe(updates);
  });

  it('are several settings in one line, and none in a line of metrics', async () => {
    const line = (i: number) => `step=${i} loss=0.1 reward=0.5 kl=0.1 mu=7`;
    const { declared } = await readText('a.log', `GRPO mu=2, lr=1e-5, eps=0.2\n${line(1)}\n${line(2)}\n`);
    expect(declared!.updatesPerRollout).toBe(2);
    const plain = await readText('a.log', `${line(1)}\n${line(2)}\n`);
    expect(plain.declared?.updatesPerRollout).toBeUndefined();
  });

  it('are the steps that the Trainer announces', async () => {
    const text = `  Total train batch size (w. parallel, distributed & accumulation) = 16\n  Total optimization steps = 1,000\n  logging_steps = 10\n${rows}\n`;
    const reading = await readText('a.log', text);
    expect(reading.series).toMatchObject({
      lastStep: 1000,
      stepsPerEntry: 10,
    });
    expect(steps(reading)).toEqual([10, 20]);
  });

  it('is the last exception, and no word of the text', async () => {
    const trace = (text: string) =>
      `Traceback (most recent call last):\n  File "a.py", line 1, in b\n    c()\n${text}\n`;
    const { series } = await readText(
      'a.log',
      `${rows}\n${trace('KeyError: 1')}${trace('torch.OutOfMemoryError: CUDA out of memory. Tried 2 GiB')}ValueError: in a text\n`,
    );
    expect(series!.exception).toEqual({
      text: 'torch.OutOfMemoryError: CUDA out of memory. Tried 2 GiB',
      line: 10,
    });
    expect((await readText('c.log', `${rows}\n${trace('KeyError: 1')}`)).notes).toContain(
      'Last exception, line 6: KeyError: 1',
    );
    const two = await readText('d.log', `${rows}\n${trace('KeyError: 1')}${rows}\n`);
    const [first, second] = await Promise.all(two.runs!.map(({ read }) => read()));
    expect([first!.series!.exception?.line, second!.series!.exception]).toEqual([6, undefined]);
    expect((await readText('b.log', `${rows}\nValueError: in a text\n`)).series!.exception).toBeUndefined();
  });

  it('are the updates that it says were skipped, also where it has no metrics', async () => {
    const skip = (norm: number) => `Warning: Gradient norm too large: ${norm}, skipping update\n`;
    const { series } = await readText('s.log', `${rows}\n${skip(3776)}${skip(12)}skipped 3 long prompts\n`);
    expect(series!.skips).toEqual({ count: 2, text: skip(3776).trim(), line: 3 });
    await expect(readText('t.log', `${skip(3776)}${skip(12)}`)).rejects.toThrow(
      '2 lines of it say that an update is skipped, first "Warning: Gradient norm too large: 3776, skipping update" (line 1)',
    );
  });
});
