import { expect, it } from 'vitest';
import type { Peers } from '../step/peers/peers.js';
import { takeSteps } from '../step/peers/ranks.test.helper.js';
import { stages as standardStages } from '../step/stages.js';
import type { Comparison } from '../trace/index.js';
import { Audit } from './audit.js';

/** Three processes take a step; returns those of rank 0's comparisons that the other ranks can affect. */
async function auditedStep(peers: (own: Peers) => Peers): Promise<Comparison[]> {
  let audit: Audit | undefined;
  await takeSteps(3, {
    peers,
    settings: ['train.microBatchTokens=20', 'train.steps=9', 'optimizer.learningRate=1e-3'],
    stages: () => ({ update: standardStages.update }),
    trainer: (trainer) => {
      if (trainer.peers!.rank > 0) return {};
      audit = new Audit(trainer);
      return { observers: [...trainer.observers!, ...audit.observers] };
    },
  });
  const own = ['loss', 'update', 'weights', 'advantage'];
  return audit!.record.comparisons.filter(({ handOver }) => own.includes(handOver));
}

const apart = (comparisons: readonly Comparison[]) =>
  comparisons.filter(({ deviation, bound }) => !(deviation <= bound)).map(({ quantity }) => quantity);

it('holds what all processes do to the plain path', async () => {
  const comparisons = await auditedStep((peers) => peers);
  expect(apart(comparisons)).toEqual([]);
  expect(
    comparisons.find(({ quantity }) => quantity === "sum of the processes' gradients")?.compared,
  ).toBeGreaterThan(1000);
  expect(
    comparisons.find(({ quantity }) => quantity === 'passes of a completion in an update')?.compared,
  ).toBe(20);
});

it('finds a mean of gradients in place of their sum', async () => {
  const comparisons = await auditedStep((peers) => ({
    ...peers,
    sum: async (tensors) => {
      await peers.sum(tensors);
      for (const own of tensors) own.mul_(1 / peers.size);
    },
  }));
  expect(apart(comparisons)).toEqual(["sum of the processes' gradients"]);
});
