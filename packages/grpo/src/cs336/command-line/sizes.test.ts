import { describe, expect, it } from 'vitest';
import { UsageError } from '../../config/index.js';
import { type AssignmentSizes, readSizes } from './sizes.js';

const usual: AssignmentSizes = { rolloutBatch: 256, group: 8, trainBatch: 256, epochs: 1 };

function refusal(sizes: Partial<AssignmentSizes>): string {
  try {
    readSizes({ ...usual, ...sizes });
  } catch (error) {
    expect(error).toBeInstanceOf(UsageError);
    return `${(error as UsageError).message} ${(error as UsageError).hint}`;
  }
  throw new Error('expected a UsageError');
}

describe('the sizes of the assignment', () => {
  it.each<[Partial<AssignmentSizes>, object]>([
    [{}, { prompts: 32, minibatches: 1, iterations: 1 }],
    [{ trainBatch: 64 }, { prompts: 32, minibatches: 4, iterations: 1 }],
    [{ accumulation: 128 }, { prompts: 32, minibatches: 1, iterations: 1, microBatch: 2 }],
    [
      { rolloutBatch: 64, trainBatch: 64, accumulation: 32 },
      { prompts: 8, microBatch: 2 },
    ],
    [
      { trainBatch: 128, epochs: 3 },
      { minibatches: 2, iterations: 3 },
    ],
  ])('%j become ours', (sizes, ours) => {
    const read = readSizes({ ...usual, ...sizes });
    expect(read).toMatchObject(ours);
    expect(read.note).toBeUndefined();
  });

  it('of its off-policy example are read as 4 × 256', () => {
    const { note, ...sizes } = readSizes({ ...usual, trainBatch: 1024, epochs: 4 });
    expect(sizes).toEqual({ prompts: 32, minibatches: 1, iterations: 4 });
    expect(note).toContain('is read as 4 × 256: 4 updates of 256 completions from each rollout');
  });

  it.each<[Partial<AssignmentSizes>, RegExp]>([
    [{ rolloutBatch: 250 }, /does not split into groups of 8 .* These work: 248, 256\./],
    [{ rolloutBatch: 4 }, /These work: 8\./],
    [{ trainBatch: 96 }, /updates of whole groups of 8\. These work: 8, 16, 32, 64, 128, 256\./],
    [{ trainBatch: 4 }, /whole groups of 8\. These work: 8, 16/],
    [{ trainBatch: 300 }, /These work: 8, 16/],
    [
      { trainBatch: 1024 },
      /is 4 times a rollout of 256.* is 1\. Read as 4 epochs of 256: --epochs-per-rollout-batch 4\./,
    ],
    [{ trainBatch: 1024, epochs: 2 }, /--epochs-per-rollout-batch is 2\. Read as 4 epochs/],
    [{ accumulation: 100 }, /does not divide --train-batch-size 256\. These work: 16, 32, 64, 128\./],
  ])('%j are answered with the numbers that work', (sizes, message) => {
    expect(refusal(sizes)).toMatch(message);
  });
});
