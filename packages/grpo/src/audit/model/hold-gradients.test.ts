import { tidy } from '@grpo/torch';
import { afterAll, expect, it } from 'vitest';
import { disposePolicies } from '../../lab/lab-policy.js';
import { type Stages, stages as standard } from '../../step/stages.js';
import { fixtureModel } from '../../step/step.test.helper.js';
import { disagreements } from '../audit.test.helper.js';
import { promptsOf } from '../plain/plain-model.test.helper.js';
import { holdGradients } from './hold-gradients.js';
import { runPlain } from './plain-run.js';
import { rawModel } from './raw-model.js';
import { toleranceOf } from './tolerance.js';

afterAll(disposePolicies);

it('a tensor that training gave no gradient is missing, whatever its norm', () => {
  const model = fixtureModel('llama3', 'float32');
  const { decoder } = model;
  const plain = rawModel(model, decoder, { lora: { rank: 0 } } as never);
  const ids = promptsOf('models/llama3').find(({ length }) => length > 6)!;
  const sequence = { prompt: ids.slice(0, 3), completion: ids.slice(3) };
  const options = { temperature: 1, tell: () => {} };
  const [norm] = tidy(() => {
    const runs = runPlain(plain, [sequence], options).map((run) => ({ ...sequence, ...run }));
    const { length } = sequence.completion;
    const slopes = [{ logprobs: new Float64Array(length).fill(1e6), entropies: new Float64Array(length) }];
    const trained = { decoder, forward: 'old log-probs' as const };
    const held = { ...options, tolerance: toleranceOf('float32'), slack: 1, trained };
    return holdGradients(plain, runs, slopes, new Map(), held);
  });
  expect(norm).toMatchObject({
    quantity: 'norm of the gradient',
    found: 'missing',
    plain: 'there',
    deviation: Number.NaN,
  });
  // A deviation of 1 would be within it.
  expect(norm!.bound).toBeGreaterThan(1);
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
