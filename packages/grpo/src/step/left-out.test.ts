/** Completions and groups that have no part in the loss, by whole steps. */
import { describe, expect, it } from 'vitest';
import { composedLoss, type LossInput } from '../objective/index.js';
import { metricsOf } from '../observe/metrics.js';
import { recordStep } from '../observe/record-step.js';
import { stepRecordOf } from '../observe/step-record.js';
import type { Completion } from '../rollout/index.js';
import type { Stages } from './stages.js';
import {
  fixtureModel,
  flatWhere,
  PROBLEMS,
  spreadRewards,
  trainerOf,
  weightsOf,
} from './step.test.helper.js';

const ONE_BATCH = 'train.microBatchTokens=100000';

/** An objective that is the standard one, and the sizes of the updates that it was called for. */
function watched(): { seen: LossInput['update'][]; objective: Stages['objective'] } {
  const seen: LossInput['update'][] = [];
  const objective: Stages['objective'] = (input) => {
    seen.push(input.update);
    return composedLoss(input);
  };
  return { seen, objective };
}

/** A sample stage whose completions have one to six tokens; those of six were cut. */
const someCut: Stages['sample'] = async (_model, requests) =>
  requests.map(({ count }, p) =>
    Array.from({ length: count }, (_, g): Completion => {
      const length = 1 + ((p + 2 * g) % 6);
      const ids = Array.from({ length }, (_, t) => 5 + ((7 * p + 3 * g + t) % 40));
      const logprobs = new Float32Array(length).fill(-3);
      const finishReason = length >= 5 ? 'length' : 'stop';
      return { ids, text: '', finishReason, logprobs, sampledLogprobs: logprobs };
    }),
  );

const allCut: Stages['sample'] = async (...args) =>
  (await someCut(...args)).map((group) => group.map((one) => ({ ...one, finishReason: 'length' })));

describe('objective.maskTruncated', () => {
  const LOSSES = ['grpo', 'dapo', 'dr_grpo', 'bnpo', 'luspo', 'cispo', 'sapo'];

  it.each(LOSSES)('gives cut completions no weight in %s, and the others theirs', async (loss) => {
    const settings = [`objective.loss=${loss}`, 'objective.maskTruncated=true', 'kl.beta=0.1'];
    const model = fixtureModel('llama3');
    const stages = { sample: someCut, score: spreadRewards };
    const trainer = trainerOf(model, settings, stages, fixtureModel('llama3').decoder);
    const { batch, updates } = await recordStep(trainer, PROBLEMS, 0, 0);
    const { weights, klWeights = weights } = updates[0]!;
    let at = 0;
    const trained = batch.completions_B.filter((one) => one.finishReason === 'stop');
    const tokens = trained.reduce((sum, { ids }) => sum + ids.length, 0);
    const expected: Record<string, (length: number) => number> = {
      grpo: (length) => 1 / (16 * length),
      sapo: (length) => 1 / (16 * length),
      dapo: () => 1 / tokens,
      cispo: () => 1 / tokens,
      bnpo: () => 1 / tokens,
      dr_grpo: () => 1 / (16 * 10),
      luspo: () => 1 / 16,
    };
    expect(trained.length).toBeGreaterThan(0);
    for (const { ids, finishReason } of batch.completions_B) {
      const own = finishReason === 'stop' ? expected[loss]!(ids.length) : 0;
      for (let t = 0; t < ids.length; t++, at++) {
        expect(weights![at]).toBeCloseTo(own, 6);
        expect(klWeights![at]).toBeCloseTo(own, 6);
      }
    }
    // They count in the comparison of their group.
    expect(batch.advantages.advantages.every((a) => a !== 0)).toBe(true);
  });

  it.each(LOSSES)('of nothing but cut completions changes no weight (%s)', async (loss) => {
    const settings = [`objective.loss=${loss}`, 'objective.maskTruncated=true', 'kl.beta=0.1'];
    const model = fixtureModel('llama3');
    const before = weightsOf(model.decoder);
    const stages = { sample: allCut, score: spreadRewards };
    const trainer = trainerOf(model, settings, stages, fixtureModel('llama3').decoder);
    const result = await recordStep(trainer, PROBLEMS, 0, 0.1);
    expect([result.loss, result.gradNorm]).toEqual([expect.closeTo(0, 12), 0]);
    expect(weightsOf(model.decoder)).toEqual(before);
    // A mean of nothing is left out, not NaN.
    const row = metricsOf(result, 1, { tokens: 1, stepTokens: 1 });
    expect(Object.entries(row).filter(([, value]) => !Number.isFinite(value))).toEqual([]);
    expect([...new Set(stepRecordOf(trainer, result, 1).scored!.mask)]).toEqual([0]);
  });
});

describe('advantage.flat=drop', () => {
  const settings = ['advantage.flat=drop', 'kl.beta=0.1', ONE_BATCH];

  it.each(['dapo', 'grpo'])(
    'leaves flat groups out of the update and of what %s divides by',
    async (loss) => {
      const { seen, objective } = watched();
      const stages = { sample: someCut, score: flatWhere((p) => p === 1), objective };
      const reference = fixtureModel('llama3').decoder;
      const model = fixtureModel('llama3');
      const trainer = trainerOf(model, [...settings, `objective.loss=${loss}`], stages, reference);
      const { batch, updates } = await recordStep(trainer, PROBLEMS, 0, 0);
      expect(batch.advantages.dropped).toEqual([1]);
      expect([...updates[0]!.completions!]).toEqual([0, 1, 2, 3, 8, 9, 10, 11, 12, 13, 14, 15]);
      const lengths = batch.completions_B.map(({ ids }) => ids.length);
      const tokens = lengths.filter((_, b) => b < 4 || b >= 8).reduce((a, b) => a + b, 0);
      expect(seen).toEqual([{ completions: 12, tokens }]);
      const total = updates[0]!.weights!.reduce((a, b) => a + b, 0);
      expect(total).toBeCloseTo(1, 5);
    },
  );

  it('keeps a minibatch that loses one group, and skips one that loses all', async () => {
    const { seen, objective } = watched();
    const stages = { sample: someCut, score: flatWhere((p) => p >= 1), objective };
    const several = ['objective.minibatches=2', 'objective.oldLogprobs=sampler', 'rollout.prompts=4'];
    const trainer = trainerOf(fixtureModel('llama3'), ['advantage.flat=drop', ONE_BATCH, ...several], stages);
    const { updates } = await recordStep(trainer, PROBLEMS, 0, 0.01);
    expect(updates.map(({ completions }) => [...completions!])).toEqual([[0, 1, 2, 3]]);
    expect(seen[0]!.completions).toBe(4);
  });

  it('keeps all where all are flat: the KL is left to learn from', async () => {
    const stages = { sample: someCut, score: flatWhere(() => true) };
    const reference = fixtureModel('llama3').decoder;
    const trainer = trainerOf(fixtureModel('llama3'), settings, stages, reference);
    const { updates } = await recordStep(trainer, PROBLEMS, 0, 0.01);
    expect(updates.map(({ completions }) => completions!.length)).toEqual([16]);
  });
});
