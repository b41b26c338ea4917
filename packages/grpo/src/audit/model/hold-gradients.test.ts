import { cat, keep, type Tensor, tidy } from '@grpo/torch';
import { afterAll, expect, it } from 'vitest';
import { disposePolicies } from '../../lab/lab-policy.js';
import { type Stages, stages as standard } from '../../step/stages.js';
import { fixtureModel } from '../../step/step.test.helper.js';
import { disagreements } from '../audit.test.helper.js';
import { eachGradient } from '../plain/plain-gradient.js';
import { promptsOf } from '../plain/plain-model.test.helper.js';
import { holdGradients } from './hold-gradients.js';
import { runPlain, slopedPasses } from './plain-run.js';
import { rawModel } from './raw-model.js';
import { type Tolerance, toleranceOf } from './tolerance.js';

afterAll(disposePolicies);

/** The gradients of one completion, put to `change`, held with a tolerance of `norm` and `gradient`. */
function held(
  tolerance: Partial<Tolerance>,
  slope: number,
  slack: number,
  change?: (plain: Tensor) => Tensor,
) {
  const model = fixtureModel('llama3', 'float32');
  const { decoder } = model;
  const plain = rawModel(model, decoder, { lora: { rank: 0 } } as never);
  const ids = promptsOf('models/llama3').find(({ length }) => length > 6)!;
  const sequence = { prompt: ids.slice(0, 3), completion: ids.slice(3) };
  const options = { temperature: 1, tell: () => {} };
  return tidy(() => {
    const runs = runPlain(plain, [sequence], options).map((run) => ({ ...sequence, ...run }));
    const { length } = sequence.completion;
    const slopes = [{ logprobs: new Float64Array(length).fill(slope), entropies: new Float64Array(length) }];
    const gradients = new Map<string, Tensor>();
    const take = (name: string, gradient: Tensor, start: number) => {
      const piece = change!(gradient);
      gradients.set(name, keep(start === 0 ? piece : cat([gradients.get(name)!, piece])));
    };
    if (change) eachGradient(plain, slopedPasses(runs, slopes), 1, take, options.tell);
    return holdGradients(plain, runs, slopes, gradients, {
      ...options,
      tolerance: { ...toleranceOf('float32'), ...tolerance },
      slack,
      trained: { decoder, forward: 'old log-probs' },
    });
  });
}

it('a tensor that training gave no gradient is missing, whatever its norm', () => {
  const [norm] = held({}, 1e6, 1);
  expect(norm).toMatchObject({
    quantity: 'norm of the gradient',
    found: 'missing',
    plain: 'there',
    deviation: Number.NaN,
  });
  // A deviation of 1 would be within it.
  expect(norm!.bound).toBeGreaterThan(1);
});

it('a scale is told of gradients that lie too far apart, and not of what rounding explains', () => {
  const larger = (plain: Tensor) => plain.mul(1.1);
  const quantities = (tolerance: Partial<Tolerance>) =>
    held(tolerance, 1, 0, larger).map(({ quantity }) => quantity);
  expect(quantities({})).toContain('scale of all gradients');
  expect(quantities({ norm: 0.2, gradient: 0.2 })).not.toContain('scale of all gradients');
});

it.each<[string, Partial<Stages>, string]>([
  [
    'a loss of half the size gives all gradients one scale',
    {
      objective: (input) => {
        const output = standard.objective(input);
        return { ...output, loss: output.loss.mul(0.5) };
      },
    },
    'scale of all gradients',
  ],
  [
    'swapped advantages do not',
    {
      objective: (input) =>
        standard.objective({ ...input, advantages: Array.from(input.advantages).reverse() }),
    },
    'norm of the gradient',
  ],
])('%s', async (_, stages, quantity) => {
  expect((await disagreements('gradient', { stages }))[0]).toBe(quantity);
});
