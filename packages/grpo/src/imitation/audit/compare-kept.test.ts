import { describe, expect, it } from 'vitest';
import { resolveConfig } from '../../config/index.js';
import type { Example } from '../examples.js';
import { batch, task } from '../graded-batch.test.helper.js';
import { keepGood } from '../keep.js';
import { compareKept } from './compare-kept.js';

const exampleOf = (b: number) => ({ prompt: [b < 4 ? 1 : 2], completion: [10 + b] });

function apart(
  settings: readonly string[],
  change: (kept: number[]) => number[] = (kept) => kept,
  made = exampleOf,
  asked: Parameters<typeof compareKept>[2] = task,
  learn = (examples: readonly Example[]) => examples,
) {
  const { config } = resolveConfig({ command: 'expert', settings: ['task.name=arithmetic', ...settings] });
  const kept = change(keepGood(batch, task, config.expert));
  const examples = kept.map(made);
  const measured = compareKept(batch, { kept, examples, learnt: learn(examples) }, asked, config.expert);
  return 'comparisons' in measured
    ? measured.comparisons.filter(({ deviation }) => deviation > 0).map(({ quantity }) => quantity)
    : measured.missing;
}

describe('what a round of expert iteration imitates', () => {
  it.each([
    [[]],
    [['expert.threshold=1']],
    [['expert.threshold=0', 'expert.perProblem=3', 'expert.unique=true']],
    [['expert.unique=true', 'expert.perProblem=1']],
    [['expert.threshold=9']],
  ])('holds: %s', (settings) => {
    expect(apart(settings)).toEqual([]);
  });

  it('is told when it is wrong, too little, or without a reward', () => {
    const quantities = ['list of kept completions of a problem', 'list of ids of an example'];
    expect(apart([], (kept) => [0, ...kept])).toEqual(quantities);
    expect(apart([], (kept) => kept.slice(1))).toEqual(quantities);
    expect(apart([], (kept) => [...kept, 4])).toEqual([quantities[0]]);
  });

  it('is told when the last smaller batch of it is not learnt, or an epoch is left out', () => {
    const quantity = ['times that a kept completion is learnt'];
    const few = (examples: readonly Example[]) => examples.slice(0, 1);
    expect(apart([], undefined, undefined, undefined, few)).toEqual(quantity);
    expect(apart([], undefined, undefined, undefined, () => [])).toEqual(quantity);
    expect(apart(['expert.epochs=2'])).toEqual(quantity);
    const twice = (examples: readonly Example[]) => [...examples, ...examples].reverse();
    expect(apart(['expert.epochs=2'], undefined, undefined, undefined, twice)).toEqual([]);
  });

  it('is told when it answers another prompt', () => {
    expect(
      apart(
        [],
        (kept) => kept,
        (b) => ({ ...exampleOf(b), prompt: [1] }),
      ),
    ).toEqual(['list of ids of an example']);
  });

  it.each([
    ['the order of rewards turned round: the worst are kept first', (a: number, b: number) => a - b],
    ['expert.perProblem left out', undefined],
  ])('is explained by another rule: %s', (what, order) => {
    const { config } = resolveConfig({
      command: 'expert',
      settings: ['task.name=arithmetic', 'expert.threshold=0.5', 'expert.perProblem=1'],
    });
    // Of the first problem two, of the second three are good enough, each of another reward.
    const rewards_B = [0, 0.6, 1, 0, 0.7, 0.9, 0.8, 0];
    const graded = Object.create(batch, { rewards_B: { value: rewards_B } }) as typeof batch;
    const good = rewards_B.map((_, b) => b).filter((b) => rewards_B[b]! >= 0.5);
    const ofProblem = (p: number) => good.filter((b) => Math.floor(b / 4) === p);
    const sorted = (p: number) =>
      ofProblem(p).sort((a, b) => (order ?? ((x, y) => y - x))(rewards_B[a]!, rewards_B[b]!));
    const kept = [0, 1].flatMap((p) => sorted(p).slice(0, order ? 1 : 4));
    const examples = kept.map(exampleOf);
    const measured = compareKept(graded, { kept, examples, learnt: examples }, task, config.expert);
    expect('comparisons' in measured && measured.comparisons[0]).toMatchObject({
      deviation: 1,
      explained: what,
    });
  });

  it('says of answers by chance that they cannot be compared', () => {
    let asked = 0;
    const chance = { isCorrect: () => asked++ % 3 === 0 };
    expect(apart([], (kept) => kept, exampleOf, chance)).toBe(
      'an isCorrect that answers the same when it is asked again',
    );
  });
});
