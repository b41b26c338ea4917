import { AdamW, noGrad, tidy } from '@grpo/torch';
import { describe, expect, it, onTestFinished } from 'vitest';
import { UserError } from '../errors/user-error.js';
import type { Model } from '../models/index.js';
import { scoreTokens } from '../objective/index.js';
import { fixtureModel, weightsOf } from '../step/step.test.helper.js';
import type { Problem, Task } from '../tasks/task.js';
import { type Example, examplesOf } from './examples.js';
import { sftStep } from './sft.js';

const PROBLEMS: Problem[] = [
  { prompt: [{ role: 'user', content: 'the 2+2?' }], row: {}, demonstration: '4' },
  {
    prompt: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Name the sea.' },
    ],
    row: {},
    demonstration: 'It is the other one.',
  },
  { prompt: [{ role: 'user', content: 'Hi' }], row: {}, demonstration: '<think>in the end</think> 7' },
];

const taskOf = (train: Problem[]): Task => ({
  name: 'stub',
  train,
  eval: [],
  rewards: [],
  isCorrect: () => false,
  stop: [],
});

const OPTIONS = { learningRate: 0.01, maxGradNorm: 1, microBatchTokens: 8192 };
const START = '<|start|>assistant\n';

function optimizerOf(model: Model): AdamW {
  const options = { beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0.1 };
  const optimizer = new AdamW(model.decoder.parameters, options);
  onTestFinished(() => optimizer.dispose());
  return optimizer;
}

/**
 * transformers on the same conversations: `loss` of the model with labels −100 on prompt and padding, its gradient's
 * norm from clip_grad_norm_(1), then torch.optim.AdamW; four steps.
 */
const transformers = {
  qwen3: [
    [6.7192487716674805, 4.890103340148926],
    [4.439706802368164, 3.8276777267456055],
    [3.3414053916931152, 3.161134958267212],
    [2.4122276306152344, 2.319044589996338],
  ],
  llama3: [
    [6.769286155700684, 4.137867450714111],
    [5.065451622009277, 4.19521951675415],
    [4.135054588317871, 3.4696044921875],
    [3.453549385070801, 2.7607662677764893],
  ],
};

describe.each(Object.entries(transformers))('SFT of %s', (name, steps) => {
  it.each([8192, 60, 1])(
    'takes the steps that transformers and PyTorch take, %d tokens at a time',
    async (budget) => {
      const model = fixtureModel(name);
      const optimizer = optimizerOf(model);
      const examples = examplesOf(model, taskOf(PROBLEMS));
      for (const [loss, norm] of steps) {
        const result = await sftStep(model, optimizer, examples, { ...OPTIONS, microBatchTokens: budget });
        expect(result.loss).toBeCloseTo(loss!, 3);
        expect(Math.abs(result.gradNorm / norm! - 1)).toBeLessThan(1e-3);
        expect(result.tokens).toBe(2 + 16 + 23);
      }
    },
  );
});

describe('an example', () => {
  it('is the rendered prompt, then the demonstration and one end token', () => {
    const model = fixtureModel('qwen3');
    const [first] = examplesOf(model, taskOf(PROBLEMS)) as [Example];
    expect(model.tokenizer.decode(first.prompt)).toMatch(new RegExp(`${START.replaceAll('|', '\\|')}$`));
    expect(first.completion).toEqual([...model.tokenizer.encode('4'), [...model.endIds][0]]);
  });

  it('is left out of a problem without a demonstration', () => {
    const [shown, , other] = PROBLEMS as [Problem, Problem, Problem];
    const { demonstration: _, ...silent } = other;
    expect(examplesOf(fixtureModel('qwen3'), taskOf([silent, shown]))).toHaveLength(1);
    expect(() => examplesOf(fixtureModel('qwen3'), taskOf([silent]))).toThrow(
      "the task 'stub' has no demonstrations to imitate",
    );
  });
});

describe('an SFT step', () => {
  const logprobOf = ({ decoder }: Model, { prompt, completion }: Example) =>
    noGrad(() =>
      tidy(() => scoreTokens(decoder, [{ prompt, completions: [completion] }], 1).logprobs_T.toNumbers()),
    );

  it('teaches the model to end', async () => {
    const model = fixtureModel('qwen3');
    const optimizer = optimizerOf(model);
    const [{ prompt, completion }] = examplesOf(model, taskOf(PROBLEMS)) as [Example];
    const example = { prompt, completion };
    const before = logprobOf(model, example).at(-1)!;
    for (let step = 0; step < 5; step++) await sftStep(model, optimizer, [example], OPTIONS);
    expect(before).toBeLessThan(-3);
    expect(logprobOf(model, example).at(-1)).toBeGreaterThan(-1);
  });

  it('tells the loss and the entropy of the weights before it, however it was cut', async () => {
    for (const microBatchTokens of [8192, 1]) {
      const model = fixtureModel('qwen3');
      const examples = examplesOf(model, taskOf(PROBLEMS));
      const groups = examples.map(({ prompt, completion }) => ({ prompt, completions: [completion] }));
      const [loss, entropy] = noGrad(() =>
        tidy(() => {
          const { logprobs_T, entropies_T } = scoreTokens(model.decoder, groups, 1);
          return [-logprobs_T.mean().item(), entropies_T.mean().item()];
        }),
      );
      const result = await sftStep(model, optimizerOf(model), examples, { ...OPTIONS, microBatchTokens });
      expect(result.loss).toBeCloseTo(loss!, 4);
      expect(result.entropy).toBeCloseTo(entropy!, 4);
    }
  });

  it('with a gradient that is not finite says so and changes nothing', async () => {
    const model = fixtureModel('qwen3');
    const examples = examplesOf(model, taskOf(PROBLEMS));
    const optimizer = optimizerOf(model);
    const [first] = model.decoder.parameters.values();
    noGrad(() => first!.mul_(Number.NaN));
    const before = weightsOf(model.decoder);
    const step = sftStep(model, optimizer, examples, OPTIONS);
    await expect(step).rejects.toThrow(UserError);
    expect(weightsOf(model.decoder)).toEqual(before);
  });

  it('that fails halfway leaves no gradients', async () => {
    const runs = [];
    for (const fails of [true, false]) {
      const model = fixtureModel('qwen3');
      const examples = examplesOf(model, taskOf(PROBLEMS));
      const optimizer = optimizerOf(model);
      const options = { ...OPTIONS, microBatchTokens: 1 };
      const beyond = { prompt: [1], completion: [100_000] };
      if (fails)
        await expect(sftStep(model, optimizer, [...examples, beyond], options)).rejects.toThrow(
          'out of bounds',
        );
      await sftStep(model, optimizer, examples, options);
      runs.push(weightsOf(model.decoder));
    }
    expect(runs[0]).toEqual(runs[1]);
  });
});
