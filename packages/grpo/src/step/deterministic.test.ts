import { describe, expect, it } from 'vitest';
import { recordStep } from '../observe/record-step.js';
import { fixtureModel, PROBLEMS, spreadRewards, trainerOf } from './step.test.helper.js';

describe('old log-probs that the trainer recomputes', () => {
  it.each([
    ['each completion alone', 1],
    ['a few together', 40],
    ['all together', 8192],
  ])('are bit for bit those of the first update: %s', async (_how, tokens) => {
    const settings = [
      'objective.oldLogprobs=recompute',
      `train.microBatchTokens=${tokens}`,
      'rollout.temperature=0.7',
    ];
    const trainer = trainerOf(fixtureModel('llama3'), settings, { score: spreadRewards });
    const { updates, batch } = await recordStep(trainer, PROBLEMS, 3, 0.01);
    const length = batch.completions_B.reduce((total, { ids }) => total + ids.length, 0);
    const ratios = updates[0]!.ratios!;
    expect(ratios).toHaveLength(length);
    expect(ratios.every((ratio) => ratio === 1)).toBe(true);
  });
});
