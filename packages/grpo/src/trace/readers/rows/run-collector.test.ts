import { describe, expect, it } from 'vitest';
import { column, lines, readText, steps } from '../files.test.helper.js';

const upTo = (last: number): number[] => Array.from({ length: last }, (_, i) => i + 1);
const row = (step: number) => ({ step, loss: 0.01 * step, reward: step / 100 });
const read = (rows: readonly unknown[]) => readText('m.jsonl', lines(rows));

describe('a row of an earlier step', () => {
  it.each([
    'Best checkpoint: step 12, reward=0.6300, loss=0.001',
    'Best: step 12 reward 0.63',
    'Best model at step=12 (reward=0.63)',
  ])('that sums the log up is left out: %s', async (sum) => {
    const printed = upTo(60).map((i) => `step ${i} | loss 0.0${i} | reward 0.${i}`);
    const reading = await readText('train.log', [...printed, sum].join('\n'));
    expect(steps(reading)).toEqual(upTo(60));
    expect(column(reading, 'reward')[11]).toBe(0.12);
    expect(reading.notes.join(' ')).toContain('A row tells of an earlier step');
  });

  it.each([
    { event: 'best', step: 12, reward: 0.63 },
    { final: true, step: 0, reward: 0.63, loss: 0.1 },
  ])('that ends the rows is left out: %j', async (last) => {
    const reading = await read([...upTo(60).map(row), last]);
    expect(steps(reading)).toEqual(upTo(60));
    expect(reading.notes.join(' ')).toContain('none goes on from it (line 61)');
  });

  it('that stands among later ones changes nothing', async () => {
    const rows = upTo(60).map(row);
    const reading = await read([...rows.slice(0, 30), { step: 12, reward: 0.63 }, ...rows.slice(30)]);
    expect(column(reading, 'reward')).toEqual(rows.map(({ reward }) => reward));
  });

  it('is that of a resumed run where the next one goes on from it', async () => {
    const before = [...upTo(5).map(row), { step: 3, eval_reward: 3 }, { step: 5, eval_reward: 5 }];
    const again = { step: 4, loss: 1, reward: 1 };
    const ended = [...before, again, { step: 4, eval_reward: 4 }];
    expect(column(await read(ended), 'reward')).toEqual([0.01, 0.02, 0.03, 0.04, 0.05]);
    const resumed = await read([...ended, { ...again, step: 5 }, { ...again, step: 6 }]);
    expect(column(resumed, 'reward')).toEqual([0.01, 0.02, 0.03, 1, 1, 1]);
    expect(column(resumed, 'eval_reward').slice(2)).toEqual([3, 4, undefined, undefined]);
    expect(resumed.notes.join(' ')).toContain('go back from 5 to 4 (line 8)');
  });
});

it('a run after the sum of another has its first row, however far the next is', async () => {
  const rows = [
    ...upTo(3).map(row),
    { step: 3, train_runtime: 1, train_loss: 0.1 },
    row(1),
    row(10),
    row(20),
  ];
  const { runs } = await read(rows);
  expect(steps(await runs![1]!.read())).toEqual([1, 10, 20]);
});

describe('rows out of order', () => {
  const swapped = upTo(60).map((i) => row(i % 2 === 0 ? i - 1 : i + 1));

  it.each([
    ['as an asynchronous trainer writes them', swapped],
    ['with the newest first', upTo(60).reverse().map(row)],
    [
      'in two rows a step',
      swapped.flatMap(({ step, loss, reward }) => [
        { step, loss },
        { step, reward },
      ]),
    ],
  ])('are all there, %s', async (_, rows) => {
    const reading = await read(rows);
    expect(steps(reading)).toEqual(upTo(60));
    expect(column(reading, 'loss')).toEqual(upTo(60).map((i) => 0.01 * i));
    expect(column(reading, 'reward')).toEqual(upTo(60).map((i) => i / 100));
    expect(reading.notes.join(' ')).not.toMatch(/go back|earlier step/);
  });

  it('are as far apart as in order', async () => {
    const averaged = (i: number) => ({ step: 10 * i, loss: 0.1, reward: 0.5, grad_norm: 1, epoch: i / 100 });
    const ahead = await readText(
      'a.log',
      upTo(9)
        .reverse()
        .map((i) => `${JSON.stringify(averaged(i)).replaceAll('"', "'")}\n`)
        .join(''),
    );
    expect(ahead.series!.stepsPerEntry).toBe(10);
  });
});

describe('epochs that count their own steps', () => {
  const epochs = [1, 2, 3];

  it('are one run where a step has two rows', async () => {
    const rows = epochs.flatMap((epoch) =>
      upTo(20).flatMap((step) => [
        { epoch, step, loss: 0.1 },
        { epoch, step, reward: 0.5 },
      ]),
    );
    const reading = await read(rows);
    expect(steps(reading)).toEqual(upTo(60));
    expect(column(reading, 'reward')).toEqual(upTo(60).map(() => 0.5));
  });

  it('have an evaluation each', async () => {
    const rows = epochs.flatMap((epoch) => [
      ...upTo(20).map((step) => ({ ...row(step), epoch })),
      { epoch, step: 20, eval_reward: epoch / 10 },
    ]);
    const rewards = column(await read(rows), 'eval_reward');
    expect([rewards[19], rewards[39], rewards[59]]).toEqual([0.1, 0.2, 0.3]);
  });
});

it('a number that is not finite stands once, where ranks repeat their rows', async () => {
  const ranks = upTo(20).flatMap((i) => {
    const printed = `{'loss': ${i === 15 ? 'nan' : 0.01 * i}, 'reward': 0.${i + 10}}\n`;
    return [printed, printed];
  });
  const evaluated = [...ranks.slice(0, 20), "{'eval_reward': 0.5}\n", ...ranks.slice(20)];
  const reading = await readText('a.log', evaluated.join(''));
  expect(steps(reading)).toEqual(upTo(20));
  const losses = column(reading, 'loss');
  expect(losses.flatMap((loss, i) => (Number.isNaN(loss) ? [i + 1] : []))).toEqual([15]);
  expect(losses[15]).toBe(0.16);
  expect(column(reading, 'eval_reward')[9]).toBe(0.5);
});
