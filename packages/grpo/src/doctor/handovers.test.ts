import { expect, it } from 'vitest';
import {
  CHANCE_NATS,
  type Comparison,
  FIRST_TOKEN,
  HAND_OVERS,
  LIKELIHOOD,
  type StepRecord,
} from '../trace/index.js';
import type { RunCheck, StepCheck } from './check.js';
import type { Found } from './outcome.js';
import { handOvers, registry } from './registry.js';

const record = (comparisons: Comparison[], missing: NonNullable<StepRecord['audit']>['missing'] = []) =>
  ({ audit: { completions: [0], comparisons, missing } }) as unknown as StepRecord;

const compared = { quantity: 'number', compared: 5, found: 1, plain: 2, deviation: 1, bound: 1 };

it('there is a check for each hand-over, in their order', () => {
  expect(handOvers.map(({ name }) => name)).toEqual([...HAND_OVERS]);
});

it('of hand-overs that do not hold in the same step the earliest leads: what follows is its consequence', () => {
  const order = registry.flatMap(({ code }) => handOvers.filter(({ checks: [own] }) => own!.code === code));
  expect(order.map(({ name }) => name)).toEqual([
    // What a step begins with.
    ...['prompt', 'weights', 'checkpoint', 'run', 'model'],
    ...[
      'completion',
      'text',
      'old log-probs',
      'reward',
      'choice',
      'advantage',
      'kl',
      'loss',
      'gradient',
      'update',
    ],
    ...['evaluation', 'metrics'],
  ]);
});

it.each(HAND_OVERS.map((handOver, i) => [handOver, handOvers[i]!.checks[0] as StepCheck] as const))(
  '%s is judged by its own comparisons',
  (handOver, check) => {
    const own = { ...compared, handOver };
    const other = { ...own, handOver: HAND_OVERS.find((name) => name !== handOver)!, deviation: 9 };
    expect(check.test(record([own, other]))).toEqual({
      verdict: 'pass',
      measured: { comparisons: 1, compared: 5 },
    });
    const far = { ...own, deviation: 1.5, found: 3.5, tensor: 'head', completion: 3, token: 0 };
    const outcome = check.test(record([own, far])) as Found<Record<string, number>>;
    expect(outcome).toMatchObject({
      verdict: 'fail',
      measured: { found: 3.5, plain: 2, deviation: 1.5, bound: 1 },
      evidence: [{ completion: 3, token: 0, text: 'head' }],
    });
    expect(check.says(outcome.measured)).toContain(
      'number of head is 3.5; a second, plain computation gives 2',
    );
    expect(check.says({ ...outcome.measured, found: 1.29391, plain: 1.29387 })).toContain(
      'is 1.29391; a second, plain computation gives 1.29387',
    );
    const explained = check.test(record([{ ...far, explained: 'a setting' }]));
    expect(check.says((explained as typeof outcome).measured)).toContain(
      'plain computation gives 2. All that was found is what comes of a setting. They lie',
    );
    const off: Comparison['off'] = {
      pairs: 4,
      factor: 0.5,
      tensors: [2, 9],
      names: ['a', 'b'],
      firstToken: 3,
    };
    const common = check.test(record([{ ...far, off }]));
    expect(check.says((common as typeof outcome).measured)).toContain(
      'Of 5, 4 are off, in 2 of 9 tensors (a, b), none before token 3, each 0.5 times what it should be.',
    );
    expect(check.test(record([{ ...own, deviation: Number.NaN }])).verdict).toBe('fail');
    expect(check.test(record([other], [{ handOver, what: 'a plain form of the loss' }]))).toEqual({
      verdict: 'not applicable',
      missing: ['a plain form of the loss'],
    });
  },
);

/** The check of all steps together, given what the likelihood of the draws gains at two other temperatures in each. */
function judge(gains: readonly (readonly [number, number])[]) {
  const check = handOvers[1]!.checks.find(({ code }) => code === 'H02.likelihood') as RunCheck;
  const seen = gains.map((both, step) => {
    const comparisons = both.map((deviation, k) => ({
      ...compared,
      handOver: 'completion' as const,
      quantity: `${LIKELIHOOD} ${[0.5, 2][k]}`,
      deviation,
      bound: CHANCE_NATS + 0.01,
    }));
    return { step, value: (check.see(record(comparisons)) as { value: object }).value };
  });
  return check.test(seen);
}

it('draws that fit another temperature a little better in each step add up', () => {
  expect(judge(Array(2).fill([-9, 5])).verdict).toBe('pass');
  const outcome = judge(Array(5).fill([-9, 5]));
  expect(outcome).toMatchObject({ verdict: 'fail', measured: { times: 2, tokens: 25, gain: 25 } });
  // What rounding explains of each step adds up, and chance is counted once.
  expect(outcome).toMatchObject({ measured: { bound: expect.closeTo(CHANCE_NATS + 0.05, 9) } });
});

/** Of a token with one likely value and two rare ones: log-probs, and what they are at a temperature times as high. */
function tokens(times: number) {
  const p = [1 - 1e-3 - 1e-4, 1e-3, 1e-4];
  const all = Math.log(p.reduce((sum, x) => sum + x ** (1 / times), 0));
  return { p, gains: p.map((x) => Math.log(x) / times - all - Math.log(x)) };
}

it('a rare token of a peaked distribution is chance, and many of them are another temperature', () => {
  // One token in ten thousand among 98: as far as 20 standard deviations.
  const gain = (rare: number, times: number) => {
    const { gains } = tokens(times);
    return (98 - rare) * gains[0]! + rare * gains[2]!;
  };
  expect(judge([[gain(1, 0.5), gain(1, 2)]]).verdict).toBe('pass');
  expect(judge([[gain(9, 0.5), gain(9, 2)]]).verdict).toBe('fail');
  // The mean of the ratio of likelihoods is 1, which the bound follows from.
  const { p, gains } = tokens(2);
  expect(p.reduce((mean, x, k) => mean + x * Math.exp(gains[k]!), 0)).toBeCloseTo(1, 12);
});

it('what an audited step lacks is said, with the hand-overs that it concerns', () => {
  const check = registry.find(({ code }) => code === 'H10.lacks') as StepCheck;
  const lack = (handOver: 'completion' | 'gradient' | 'reward' | 'run', what: string) => ({ handOver, what });
  const outcome = check.test(
    record([], [lack('completion', 'memory'), lack('gradient', 'memory'), lack('reward', 'a server')]),
  );
  expect(outcome).toMatchObject({
    verdict: 'inform',
    measured: { handOvers: 'completion, gradient', what: 'memory' },
    evidence: [{ text: 'completion: memory' }, { text: 'gradient: memory' }, { text: 'reward: a server' }],
  });
  expect(check.test(record([], [lack('run', 'an order')])).verdict).toBe('pass');
});

/** Log-probs of one token by what samples and by what trains, as an audit holds them. */
const logprobs = (sampled: number, trained: number, more: readonly Comparison[] = []) =>
  record([
    ...(
      [
        ['completion', 'log-prob of the sampler', sampled],
        ['old log-probs', 'log-prob of the policy', trained],
      ] as const
    ).map(([handOver, quantity, found]) => {
      const place = { completion: 3, token: 7 };
      return {
        ...compared,
        handOver,
        quantity,
        found,
        plain: -1,
        deviation: Math.abs(found + 1),
        bound: 0.01,
        ...place,
      };
    }),
    ...more,
  ]);

it('log-probs on which sampler and trainer agree against the plain path are those of what they share', () => {
  const check = registry.find(({ code }) => code === 'H15.shared') as StepCheck;
  const found = check.test(logprobs(-2, -2.001));
  expect(found).toMatchObject({ verdict: 'fail', evidence: [{ completion: 3, token: 7 }] });
  for (const [sampled, trained] of [
    [-1, -1],
    [-2, -1],
    [-1, -2],
    [-2, -3],
  ] as const)
    expect(check.test(logprobs(sampled, trained)).verdict).toBe('pass');
  expect(check.test(record([])).verdict).toBe('not applicable');
});

it('a tensor that the optimizer lacks leads over what follows from it', () => {
  const check = registry.find(({ code }) => code === 'H07.held') as StepCheck;
  const held = {
    ...compared,
    handOver: 'update' as const,
    quantity: 'tensor of the optimizer',
    plain: 'trained',
  };
  const judged = (found: string, deviation: number) =>
    check.test(record([{ ...held, found, deviation, bound: 0, tensor: 'lora_A' }])) as Found<{
      tensor: string;
      is: string;
    }>;
  expect(judged('trained', 0).verdict).toBe('pass');
  const missing = judged('missing', 1);
  expect(missing).toMatchObject({ verdict: 'fail', measured: { tensor: 'lora_A', is: 'missing' } });
  expect(check.says(missing.measured)).toContain('is not in the optimizer');
  expect(check.says(judged('without gradients', 1).measured)).toContain('is without gradients');
});

it('weights that something else than an update changed lead over their sum', () => {
  const check = registry.find(({ code }) => code === 'H08.changed') as StepCheck;
  const left = { ...compared, handOver: 'weights' as const, quantity: 'weight that the step before left' };
  const judged = (found: number) =>
    check.test(
      record([{ ...left, found, plain: 0.347, deviation: 0.347 - found, bound: 0, tensor: 'lm_head' }]),
    ) as Found<{ tensor: string; is: number; was: number; compared: number }>;
  expect(judged(0.347).verdict).toBe('pass');
  const apart = judged(0.1);
  expect(apart).toMatchObject({ verdict: 'fail', measured: { tensor: 'lm_head', is: 0.1, was: 0.347 } });
  expect(check.says(apart.measured)).toContain('lm_head was 0.347, and is 0.1');
});

it('log-probs of the sampler alone are those of what decodes, unless another prompt explains them', () => {
  const check = registry.find(({ code }) => code === 'H02.alone') as StepCheck;
  const outcome = check.test(logprobs(-2, -1)) as Found<{ from: string }>;
  expect(outcome).toMatchObject({ verdict: 'fail', measured: { token: 7, from: 'unknown' } });
  expect(check.says(outcome.measured)).toContain('at its prompt');
  for (const [sampled, trained] of [
    [-1, -1],
    [-2, -2],
    [-1, -2],
  ] as const)
    expect(check.test(logprobs(sampled, trained)).verdict).toBe('pass');
  const first = {
    ...compared,
    handOver: 'completion' as const,
    quantity: FIRST_TOKEN,
    bound: 0.01,
    token: 0,
  };
  expect(check.test(logprobs(-2, -1, [first]))).toMatchObject({ measured: { from: 'first' } });
  expect(check.test(logprobs(-2, -1, [{ ...first, token: 3 }]))).toMatchObject({
    measured: { from: 'unknown' },
  });
  expect(check.test(logprobs(-2, -1, [{ ...first, deviation: 0 }]))).toMatchObject({
    measured: { from: 'later' },
  });
  const prompt = { handOver: 'completion' as const, quantity: 'prompt of a completion', compared: 1 };
  const other = { ...prompt, found: 'prompt 1', plain: 'prompt 2', deviation: 1, bound: 0 };
  expect(check.test(logprobs(-2, -1, [other])).verdict).toBe('pass');
});
