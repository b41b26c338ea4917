import { describe, expect, it } from 'vitest';
import { resolveConfig } from '../../config/index.js';
import { each } from '../../rewards/index.js';
import { plainSampling, sample } from '../../rollout/index.js';
import { tinyModel } from '../../run/tiny-model.test.helper.js';
import type { Task } from '../../tasks/task.js';
import type { Comparison } from '../../trace/index.js';
import { type EvalOptions, type EvalResult, evaluate } from '../evaluate.js';
import { auditEvaluation } from './audit-evaluation.js';

interface Row {
  i: number;
}

const LIMIT = 6;
const problem = (i: number) => ({ prompt: `${i}+1=`, row: { i } });
const lettersOf = (completion: string) => [...completion].reduce((sum, c) => sum + c.charCodeAt(0), 0);

/** Which completion is right, and what it earns, depends on its row. */
const task: Task<Row> = {
  name: 'stub',
  train: Array.from({ length: 8 }, (_, i) => problem(20 + i)),
  eval: Array.from({ length: 8 }, (_, i) => problem(i)),
  rewards: [{ name: 'own', weight: 1, score: each((text, { i }: Row) => (lettersOf(text) + i * i) % 97) }],
  isCorrect: (text, { i }) => (lettersOf(text) + i) % 2 === 0,
  stop: [],
};

const { config } = resolveConfig({
  command: 'train',
  settings: ['task.name=arithmetic', 'model=m', `eval.limit=${LIMIT}`, 'rollout.maxNewTokens=6'],
});
const options: EvalOptions = {
  limit: LIMIT,
  samples: 2,
  temperature: 1,
  sampling: { ...plainSampling, maxNewTokens: 6 },
};

/** The comparisons that do not hold, of an evaluation that was made with something planted. */
async function broken({
  evaluated = task,
  declared = task,
  evalOptions = options,
  changed = (result) => result,
  evaluatesTrained = false,
}: {
  evaluated?: Task<Row>;
  declared?: Task<Row>;
  evalOptions?: EvalOptions;
  changed?: (result: EvalResult) => EvalResult;
  evaluatesTrained?: boolean;
} = {}) {
  const model = await tinyModel();
  const result = changed(await evaluate(model, evaluated, evalOptions, config.seed));
  const trainer = {
    model,
    task: declared,
    config,
    sampling: options.sampling,
    servers: undefined,
    auditLack: undefined,
  };
  const audit = await auditEvaluation({ trainer, result, step: 0, evaluatesTrained, tell: () => {} });
  const apart = audit.comparisons.filter(({ deviation, bound }: Comparison) => !(deviation <= bound));
  return { audit, apart, quantities: apart.map(({ quantity }) => quantity) };
}

const behind = expect.stringMatching(/distance in nats of .* from the likeliest$/);

const SCORES = [
  'accuracy',
  'mean reward',
  'mean length',
  'share that was cut',
  'mean length of the right',
  'mean length of the wrong',
];

const DRAW = 'random number of a draw at the declared temperature of evaluations';

describe('the audit of an evaluation', () => {
  it('finds nothing in one that holds, and compares everything', async () => {
    const { audit, apart } = await broken();
    expect(apart).toEqual([]);
    expect(audit.missing).toEqual([]);
    expect(audit.comparisons.map(({ quantity }) => quantity.replace(/problem \d/, 'problem n'))).toEqual([
      'number of evaluated problems',
      'prompt of a held-out problem',
      'training row that asks what a held-out problem asks',
      'text of a greedy completion',
      ...Array<string>(4).fill('distance in nats of a greedy token of held-out problem n from the likeliest'),
      'root mean square distance in nats of greedy tokens from the likeliest',
      DRAW,
      `root mean square error of the ${DRAW}`,
      'grade of a completion by isCorrect',
      'reward own',
      ...SCORES.map((score) => `${score} of the greedy completions`),
      ...[...SCORES, 'pass@1', 'pass@2'].map((score) => `${score} of the sampled completions`),
    ]);
  });

  it('tells training rows that are evaluated, and other held-out rows than the first', async () => {
    const { apart } = await broken({ evaluated: { ...task, eval: task.train } });
    expect(apart).toContainEqual(
      expect.objectContaining({ quantity: 'prompt of a held-out problem', found: '20+1=', plain: '0+1=' }),
    );
    const last = { ...task, eval: task.eval.slice(-LIMIT) };
    expect((await broken({ evaluated: last })).quantities).toContain('prompt of a held-out problem');
    const fewer = { ...task, eval: task.eval.slice(0, 3) };
    expect((await broken({ evaluated: fewer })).quantities).toContain('number of evaluated problems');
  });

  it('tells a held-out problem that is trained on, whatever its row is', async () => {
    const leaking = { ...task, train: [...task.train, { ...problem(3), row: { i: 99 } }] };
    const found = {
      quantity: 'training row that asks what a held-out problem asks',
      found: 'row 9, as held-out problem 4',
    };
    expect((await broken({ declared: leaking })).apart).toEqual([expect.objectContaining(found)]);
    expect((await broken({ declared: leaking, evaluatesTrained: true })).apart).toEqual([]);
    // Of held-out problems that are not evaluated nothing is said.
    expect((await broken({ declared: { ...task, train: [problem(7)] } })).apart).toEqual([]);
  });

  it('tells greedy completions that are sampled', async () => {
    const sampled: typeof sample = (own, requests, ...rest) =>
      sample(
        own,
        requests.map((one) => ({ ...one, temperatures: one.temperatures!.map(() => 1) })),
        ...rest,
      );
    expect((await broken({ evalOptions: { ...options, sample: sampled } })).quantities).toContainEqual(
      behind,
    );
  });

  it.each([
    ['at another temperature', (temperature: number) => 0.5 * temperature, 0],
    ['from other random numbers', (temperature: number) => temperature, 1],
  ])('tells sampled completions that are drawn %s', async (_, change, moved) => {
    const other: typeof sample = (own, requests, ...rest) =>
      sample(
        own,
        requests.map((one) => ({
          ...one,
          keys: [one.keys[0]!, one.keys[1]! + moved],
          temperatures: one.temperatures!.map(change),
        })),
        ...rest,
      );
    expect((await broken({ evalOptions: { ...options, sample: other } })).quantities).toEqual([
      DRAW,
      `root mean square error of the ${DRAW}`,
    ]);
  });

  it('tells greedy completions of other weights', async () => {
    const other = await tinyModel({ seed: 5 });
    const stale: typeof sample = (_, ...rest) => sample(other, ...rest);
    expect((await broken({ evalOptions: { ...options, sample: stale } })).quantities).toContainEqual(behind);
  });

  it.each(Array.from({ length: LIMIT }, (_, i) => i))(
    'tells a wrong end of the longest completion, %i',
    async (longest) => {
      const { quantities } = await broken({
        changed: (result) => ({
          ...result,
          completions: result.completions.map((one) => {
            if (one.decoding !== 'greedy') return one;
            const ids = [...one.ids];
            if (one.problem !== longest) return { ...one, ids: ids.slice(0, 2) };
            return { ...one, ids: [...ids.slice(0, -1), ids.at(-1)! === 5 ? 6 : 5] };
          }),
        }),
      });
      expect(quantities).toContainEqual(behind);
    },
  );

  it('tells a completion that is graded with the row of another problem', async () => {
    const rows = task.eval.map((one, i) => ({ ...one, row: task.eval[(i + 1) % LIMIT]!.row }));
    const { apart, quantities } = await broken({ evaluated: { ...task, eval: rows } });
    expect(quantities).toEqual([
      'grade of a completion by isCorrect',
      'prompt whose row the reward own grades with',
      'reward own',
    ]);
    expect(apart[1]).toMatchObject({ found: 'prompt 2', plain: 'prompt 1' });
  });

  it('tells sampled completions that have the rewards of others', async () => {
    const shifted = (result: EvalResult): EvalResult => {
      const sampled = result.completions.filter(({ decoding }) => decoding === 'sampled');
      const next = new Map(sampled.map((one, i) => [one, sampled[(i + 2) % sampled.length]!]));
      return {
        ...result,
        completions: result.completions.map((one) => ({ ...one, rewards: (next.get(one) ?? one).rewards })),
      };
    };
    expect((await broken({ changed: shifted })).quantities).toEqual(
      expect.arrayContaining(['completion that the value of the reward own belongs to', 'reward own']),
    );
  });

  it('tells a graded text that is not that of the ids', async () => {
    const swapped = (result: EvalResult): EvalResult => {
      const [first, second, ...others] = result.completions;
      return {
        ...result,
        completions: [
          { ...first!, completion: second!.completion },
          { ...second!, completion: first!.completion },
          ...others,
        ],
      };
    };
    expect((await broken({ changed: swapped })).quantities).toContain('text of a greedy completion');
  });

  it('tells an accuracy and a mean reward that are not those of the completions', async () => {
    const better = (result: EvalResult): EvalResult => ({
      ...result,
      greedy: { ...result.greedy, accuracy: 1.5, reward: null },
    });
    expect((await broken({ changed: better })).quantities).toEqual([
      'accuracy of the greedy completions',
      'mean reward of the greedy completions',
    ]);
  });

  it('tells lengths, cuts and chances that are not those of the completions', async () => {
    const other = ({ greedy, passAtK, ...result }: EvalResult): EvalResult => ({
      ...result,
      greedy: {
        ...greedy,
        meanLength: greedy.meanLength + 1,
        truncated: 1 - greedy.truncated - 0.01,
        right: greedy.wrong,
        wrong: greedy.right,
      },
      passAtK: { ...passAtK, 2: { ...passAtK![2]!, mean: passAtK![2]!.mean + 0.1 } },
    });
    expect((await broken({ changed: other })).quantities).toEqual(
      expect.arrayContaining([
        'mean length of the greedy completions',
        'share that was cut of the greedy completions',
        'pass@2 of the sampled completions',
      ]),
    );
  });

  it('says of grades by chance that they cannot be compared', async () => {
    let asked = 0;
    const drawing: Task<Row> = {
      ...task,
      isCorrect: () => asked++ % 4 === 0,
      rewards: [{ name: 'chance', weight: 1, score: each(() => asked++ % 7) }],
    };
    const { audit, apart } = await broken({ evaluated: drawing, declared: drawing });
    expect(apart).toEqual([]);
    expect(audit.missing.map(({ what }) => what)).toEqual([
      'an isCorrect that depends on completion and row alone: it answers otherwise when it is asked again',
      'a reward that depends on its completion alone: chance gives other values when it is asked again',
    ]);
  });
});
