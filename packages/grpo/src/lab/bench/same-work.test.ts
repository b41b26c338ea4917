import { noGrad, type Tensor, tidy } from '@grpo/torch';
import { describe, expect, it, onTestFinished } from 'vitest';
import { recordStep } from '../../observe/record-step.js';
import type { Stages } from '../../step/stages.js';
import { intoGradients, spreadRewards } from '../../step/step.test.helper.js';
import type { Trainer } from '../../step/trainer.js';
import { lossWith } from '../plain-loss.js';
import { plainScores } from '../plain-scores.js';
import { benchTrainer, problemsOf } from './bench-trainer.js';
import type { Workload } from './workload.js';

const SMALL: Workload = {
  model: 'tiny',
  promptLength: 9,
  completionLength: 7,
  group: 3,
  prompts: 2,
  steps: 1,
  beta: 0,
  bf16: false,
  micro: 0,
  threads: 0,
  randomLengths: false,
  device: 'cpu',
};

async function trainerFor(changes: Partial<Workload>): Promise<{ trainer: Trainer; work: Workload }> {
  const work = { ...SMALL, ...changes };
  const trainer = await benchTrainer(work);
  onTestFinished(() => trainer[Symbol.dispose]());
  return { trainer, work };
}

/** A step that leaves the weights alone: its samples and scores, the loss, and its gradients. */
async function stepOf({ trainer, work }: Awaited<ReturnType<typeof trainerFor>>, own: Partial<Stages> = {}) {
  let gradients = new Map<string, Float32Array>();
  const update = intoGradients(trainer.model, (found) => {
    gradients = found;
  });
  // So few tokens are all distinct: by the benchmark's own reward there would be no advantage.
  const stages = { ...trainer.stages, score: spreadRewards, update, ...own };
  const result = await recordStep({ ...trainer, stages }, problemsOf(0, work), 0, 0);
  return { ...result, gradients };
}

/** Number of tokens that TRL scores in such a step: all completion tokens, no prompt tokens. */
const scoredTokens = ({ scored }: Awaited<ReturnType<typeof stepOf>>) =>
  [...scored.values()].reduce((sum, { completion }) => sum + completion.length, 0);

describe('the work of a step of the benchmark', () => {
  it('is that of the flags: prompts, completions and scored tokens, none of them an end', async () => {
    const made = await trainerFor({});
    const step = await stepOf(made);
    const { trained, completions_B } = step.batch;
    expect(trained.prompts.map(({ ids }) => ids.length)).toEqual([9, 9]);
    expect(completions_B.map(({ ids }) => ids.length)).toEqual([7, 7, 7, 7, 7, 7]);
    expect(scoredTokens(step)).toBe(2 * 3 * 7);
    const [end] = made.trainer.model.endIds;
    expect(completions_B.flatMap(({ ids }) => ids)).not.toContain(end);
    expect(made.trainer.config.objective).toMatchObject({ loss: 'dapo', iterations: 1, minibatches: 1 });
  });

  it('has other prompts in another step', async () => {
    const { trainer, work } = await trainerFor({});
    const idsOf = (step: number) =>
      trainer.stages.render(trainer.model, problemsOf(step, work)).map(({ ids }) => ids.join(' '));
    expect(new Set([...idsOf(0), ...idsOf(1)]).size).toBe(4);
  });

  it('has random lengths that are uniform in 4 … completion-len, as the peer draws them', async () => {
    const { trainer, work } = await trainerFor({
      completionLength: 9,
      prompts: 60,
      group: 10,
      randomLengths: true,
      promptLength: 1,
    });
    const requests = trainer.stages
      .render(trainer.model, problemsOf(0, work))
      .map(({ ids }, p) => ({ ids, count: work.group, keys: [0, p] }));
    const groups = await trainer.stages.sample(trainer.model, requests, trainer.sampling, 0);
    const counts = new Map<number, number>();
    for (const { ids } of groups.flat()) counts.set(ids.length, (counts.get(ids.length) ?? 0) + 1);
    expect([...counts.keys()].sort()).toEqual([4, 5, 6, 7, 8, 9]);
    // 100 of each are expected, with a standard deviation of 9.
    for (const count of counts.values()) expect(Math.abs(count - 100)).toBeLessThan(36);
  });
});

describe.each([0, 0.05])('loss and gradients of a step of the benchmark, β %d', (beta) => {
  it.each([
    [false, 0],
    [true, 2],
  ])(
    'are those of the plain path, random lengths: %s, completions a micro-batch: %d',
    async (randomLengths, micro) => {
      const made = await trainerFor({ beta, randomLengths, micro });
      if (made.trainer.reference) movedAway(made.trainer.reference.parameters.values());
      const fast = await stepOf(made);
      // A pass of its own for each prompt and completion, all logits, and the loss written out: nothing is shared.
      const plain = await stepOf(made, {
        sample: async () => {
          const { completions_B } = fast.batch;
          return [completions_B.slice(0, 3), completions_B.slice(3)];
        },
        logprob: (decoder, groups, temperature) => plainScores(decoder, groups, temperature),
        objective: lossWith({}),
      });
      expect(scoredTokens(fast)).toBe(scoredTokens(plain));
      expect(Math.abs(fast.loss - plain.loss)).toBeLessThan(1e-6);
      for (const [name, expected] of plain.gradients) {
        const { cosine, norms } = compared(fast.gradients.get(name)!, expected);
        expect(cosine, name).toBeGreaterThanOrEqual(0.9999);
        expect(Math.abs(norms - 1), name).toBeLessThan(1e-3);
      }
    },
  );
});

/** Or its KL would be 0, and so the gradient of that. */
function movedAway(parameters: Iterable<Tensor>): void {
  noGrad(() =>
    tidy(() => {
      for (const parameter of parameters) parameter.mul_(1.05);
    }),
  );
}

function compared(a: Float32Array, b: Float32Array): { cosine: number; norms: number } {
  let [dot, aa, bb] = [0, 0, 0];
  for (const [i, x] of b.entries()) {
    dot += a[i]! * x;
    aa += a[i]! ** 2;
    bb += x ** 2;
  }
  return { cosine: dot / Math.sqrt(aa * bb), norms: Math.sqrt(aa / bb) };
}
