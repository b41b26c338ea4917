import { describe, expect, it } from 'vitest';
import { UserError } from '../errors/user-error.js';
import { meanInterval, wilson } from '../maths/interval.js';
import { type StageProgress, Watch } from '../progress/watch.js';
import { plainSampling, sample } from '../rollout/index.js';
import { tinyModel } from '../run/tiny-model.test.helper.js';
import type { Task } from '../tasks/task.js';
import { type EvalOptions, evaluate } from './evaluate.js';

const SEED = 7;
const options: EvalOptions = {
  limit: 10,
  samples: 3,
  temperature: 1,
  // Not evaluation's temperature, which must be ignored.
  sampling: { ...plainSampling, temperature: 5, maxNewTokens: 6 },
};

interface Row {
  solved: boolean;
  i: number;
}

/** Twelve problems; which are solved is written in their rows. */
function stubTask(changes: Partial<Task<Row>> = {}): Task<Row> {
  return {
    name: 'stub',
    train: [],
    eval: Array.from({ length: 12 }, (_, i) => ({ prompt: `${i}+1=`, row: { solved: i < 8, i } })),
    rewards: [],
    isCorrect: (_, row) => row.solved,
    stop: [],
    ...changes,
  };
}

describe('evaluate', () => {
  it('counts what is correct, with an interval over problems', async () => {
    const result = await evaluate(await tinyModel(), stubTask(), options, SEED);
    expect(result.problems).toBe(10);
    expect(result.greedy).toMatchObject({ accuracy: 0.8, ...wilson(8, 10), correct: 8, total: 10 });
    // All completions of a problem agree here: thirty of them tell no more than ten.
    expect(result.sampled).toMatchObject({ accuracy: 0.8, ...wilson(8, 10), correct: 24, total: 30 });
    expect(result.examples.map(({ prompt, correct }) => [prompt, correct])).toEqual([
      ['0+1=', true],
      ['1+1=', true],
      ['2+1=', true],
    ]);
  });

  it.each([
    [() => undefined, 'returned undefined, expected true or false'],
    [() => 0.5, 'returned 0.5, expected true or false'],
    [
      () => {
        throw new Error('no key');
      },
      /threw Error: no key \(.*evaluate\.test\./,
    ],
  ])('takes true and false alone from isCorrect: %s', async (isCorrect, message) => {
    const task = stubTask({ isCorrect: isCorrect as unknown as () => boolean });
    await expect(evaluate(await tinyModel(), task, options, SEED)).rejects.toThrow(message);
    await expect(evaluate(await tinyModel(), task, options, SEED)).rejects.toThrow(
      'task stub: isCorrect, of the completion',
    );
  });

  it('decodes as training does: greedily, and at its own temperature in streams of its own', async () => {
    const model = await tinyModel();
    const seen: string[] = [];
    const lengths = {
      name: 'length',
      weight: 1,
      score: ({ completions }: { completions: string[] }) => completions.map((c) => c.length),
    };
    const task = stubTask({ rewards: [lengths], isCorrect: (text) => seen.push(text) < 0 });
    const result = await evaluate(model, task, options, SEED);

    const requests = (count: number) =>
      task.eval
        .slice(0, 10)
        .map(({ prompt }, i) => ({ ids: model.tokenizer.encode(prompt as string), count, keys: [-1, i] }));
    const greedy = (await sample(model, requests(1), { ...options.sampling, temperature: 0 }, 0)).flat();
    const sampled = (await sample(model, requests(3), { ...options.sampling, temperature: 1 }, SEED)).flat();
    expect(seen).toEqual([...greedy, ...sampled].map(({ text }) => text));
    expect(result.completions.map(({ completion }) => completion)).toEqual(seen);
    expect(result.completions.map(({ length }) => length)).toEqual(
      [...greedy, ...sampled].map(({ ids }) => ids.length),
    );
    expect(result.examples[0]!.completion).toBe(greedy[0]!.text);
    for (const [score, completions] of [
      [result.greedy, greedy],
      [result.sampled!, sampled],
    ] as const) {
      const mean = (of: (c: (typeof greedy)[number]) => number) =>
        completions.reduce((sum, c) => sum + of(c), 0) / completions.length;
      expect(score.meanLength).toBeCloseTo(
        mean((c) => c.ids.length),
        12,
      );
      expect(score.truncated).toBeCloseTo(
        mean((c) => Number(c.finishReason === 'length')),
        12,
      );
      expect(score.rewards.length!.mean).toBeCloseTo(
        mean((c) => c.text.length),
        12,
      );
    }
    expect(await evaluate(model, task, options, SEED)).toEqual(result);
    expect(new Set(sampled.map(({ text }) => text)).size).toBeGreaterThan(20);
  });

  it('computes each prompt once, and all completions together', async () => {
    const model = await tinyModel();
    const seen: StageProgress[] = [];
    await evaluate(model, stubTask(), options, SEED, new Watch({ progress: (at) => seen.push(at) }));
    const ofPrompts = seen.filter(({ unit }) => unit === 'prompt tokens');
    const tokens = stubTask()
      .eval.slice(0, 10)
      .reduce((sum, { prompt }) => sum + model.tokenizer.encode(prompt as string).length, 0);
    expect(ofPrompts.map(({ total }) => total)).toEqual(ofPrompts.map(() => tokens));
    // Once for each layer.
    expect(ofPrompts).toHaveLength(model.decoder.config.layers);
    expect(seen.find(({ stage, unit }) => stage === 'evaluation' && unit === 'completions')!.total).toBe(40);
  });

  it('counts failures of rewards and makes no number of them', async () => {
    const rewards: Task<Row>['rewards'] = [
      {
        name: 'odd',
        weight: 1,
        score: ({ rows }) => rows.map(({ i }) => (i % 2 ? i : Number.NaN)),
      },
      {
        name: 'broken',
        weight: 1,
        score: () => {
          throw new Error('no grader today');
        },
      },
      { name: 'silent', weight: 0, score: ({ rows }) => rows.map(() => null) },
    ];
    const { greedy, sampled, failures } = await evaluate(
      await tinyModel(),
      stubTask({ rewards }),
      { ...options, samples: 0 },
      SEED,
    );
    expect(sampled).toBeUndefined();
    expect(greedy.rewards).toMatchObject({ odd: { mean: 5 }, broken: null, silent: null });
    expect(greedy.failed).toBe(5 + 10);
    expect(failures.map(({ reason }) => reason)).toContain('returned NaN, not a finite number');
    expect(failures.some(({ reason }) => reason.includes('no grader today'))).toBe(true);
    // One that counts has failed on every completion, so none has a total.
    expect(greedy).toMatchObject({ reward: null, rewardLow: null, rewardHigh: null, accuracy: 0.8 });
    // It goes into a JSON file.
    expect(JSON.parse(JSON.stringify(greedy))).toEqual(greedy);
  });

  it('has rewards and no accuracy for a task that cannot tell right from wrong', async () => {
    // By problem: 0, 1, 2, … and twice that; the odd sevens have no opinion.
    const rewards: Task<Row>['rewards'] = [
      { name: 'a', weight: 1, score: ({ rows }) => rows.map(({ i }) => (i === 7 ? null : i)) },
      { name: 'b', weight: 0.5, score: ({ rows }) => rows.map(({ i }) => (i === 7 ? null : 4 * i)) },
      { name: 'logged', weight: 0, score: ({ rows }) => rows.map(() => 100) },
    ];
    const { isCorrect: _, ...task } = stubTask({ rewards });
    const result = await evaluate(await tinyModel(), task, options, SEED);
    const { greedy, sampled, examples } = result;
    expect(result).not.toHaveProperty('passAtK');
    const means = [0, 1, 2, 3, 4, 5, 6, 8, 9].map((i) => 3 * i);
    const interval = meanInterval(means)!;
    for (const score of [greedy, sampled!]) {
      expect(score).toMatchObject({ accuracy: null, low: null, high: null, correct: null });
      expect(score.rewards).toMatchObject({ a: { mean: 38 / 9 }, b: { mean: 152 / 9 } });
      expect(score.rewards.logged).toEqual({ mean: 100, low: null, high: null });
      expect([score.right, score.wrong]).toEqual([null, null]);
      expect(score.reward).toBeCloseTo((3 * 38) / 9, 12);
      // Three equal completions of a problem tell no more than one.
      expect(score.rewardLow).toBeCloseTo(interval.low, 12);
      expect(score.rewardHigh).toBeCloseTo(interval.high, 12);
    }
    expect(examples.map(({ correct, reward }) => [correct, reward])).toEqual([
      [null, 0],
      [null, 3],
      [null, 6],
    ]);
    const few = await evaluate(await tinyModel(), task, { ...options, limit: 2 }, SEED);
    expect(few.greedy).toMatchObject({ reward: 1.5, rewardLow: null, rewardHigh: null });
  });

  it('says so when there is nothing to evaluate on', async () => {
    const evaluation = evaluate(await tinyModel(), stubTask({ eval: [] }), options, SEED);
    await expect(evaluation).rejects.toThrow(UserError);
    await expect(evaluation).rejects.toThrow('stub has no held-out problems');
  });
});
