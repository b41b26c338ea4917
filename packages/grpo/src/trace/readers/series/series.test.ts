import { describe, expect, it } from 'vitest';
import { column, lines, readText, steps } from '../files.test.helper.js';

const row = (step: number, more: object) => ({
  step,
  epoch: 0.1,
  loss: 0.0012,
  reward: 0.5,
  reward_std: 0.1,
  ...more,
});

describe('a metric series', () => {
  it('leaves out the sum of the run, and has what its row tells of the last steps as an entry', async () => {
    const reading = await readText(
      'train.log',
      "{'loss': 0.1, 'reward': 0.5, 'epoch': 0.5}\n{'train_runtime': 33.0, 'train_loss': 0.05, 'reward': 0.75, 'epoch': 1.0}\n",
    );
    expect(steps(reading)).toEqual([1, 2]);
    expect(column(reading, 'reward')).toEqual([0.5, 0.75]);
    expect(column(reading, 'train_loss')).toEqual([undefined, undefined]);
  });

  it('knows that the Trainer rounds the loss', async () => {
    const decimals = async (loss: number) =>
      (await readText('m.jsonl', lines([row(1, {}), row(2, { loss })]))).series!.decimals;
    expect(await decimals(0)).toEqual({ loss: 4 });
    expect(await decimals(0.00012)).toBeUndefined();
  });

  it('is TRL’s by an epoch, and a script’s without: reward_std is a name that others have too', async () => {
    const producer = async (more: object) =>
      (await readText('m.jsonl', lines([row(1, more), row(2, more)]))).series!.producer.name;
    expect(await producer({})).toBe('TRL');
    expect(await producer({ epoch: undefined })).toBe('unknown');
  });
});
