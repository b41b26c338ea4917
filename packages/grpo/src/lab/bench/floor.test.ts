import { describe, expect, it } from 'vitest';
import { floorOf, stageNeeds } from './floor.js';
import { benchModels, type Workload } from './workload.js';

const WORK: Workload = {
  model: 'gpt2-124m',
  promptLength: 64,
  completionLength: 64,
  group: 4,
  prompts: 4,
  steps: 1,
  beta: 0.1,
  bf16: false,
  micro: 0,
  threads: 0,
  randomLengths: false,
  device: 'cpu',
};
const lengths = Array<number>(16).fill(64);
const floors = (flops: number, bytes: number, work: Partial<Workload> = {}) =>
  Object.fromEntries(
    Object.entries(stageNeeds(benchModels['gpt2-124m'], { ...WORK, ...work }, lengths, () => flops)).map(
      ([stage, needs]) => [stage, floorOf(needs, bytes)],
    ),
  ) as Record<keyof ReturnType<typeof stageNeeds>, number>;

// Weights of GPT-2's products: 12 × 12 × 768² and the head.
const LAYERS = 12 * 12 * 768 ** 2;
const HEAD = 768 * 50_257;

describe("a stage's floor", () => {
  it('of decoding is the weights, read once a token, where the arithmetic is quick', () => {
    const { decode } = floors(1e30, 22e9);
    const weights = (63 * (LAYERS + HEAD) * 4) / 22e9;
    expect(decode / weights).toBeGreaterThan(1);
    // Keys and values are the rest: 4 prompts of 64 tokens, and 16 rows of 1 to 63.
    const cached = 2 * 12 * 768 * 4 * (63 * 4 * 64 + (16 * 63 * 64) / 2);
    expect(decode).toBeCloseTo(weights + cached / 22e9, 9);
  });

  it('is the arithmetic where memory is quick', () => {
    const { decode, logprob, backward, reference } = floors(1e12, 1e30);
    expect(decode * 1e12).toBeGreaterThan(2 * 16 * 63 * (LAYERS + HEAD));
    expect(decode * 1e12).toBeLessThan(1.1 * 2 * 16 * 63 * (LAYERS + HEAD));
    expect(logprob * 1e12).toBeGreaterThan(2 * ((256 + 1024) * LAYERS + 1024 * HEAD));
    expect(backward).toBe(2 * logprob);
    expect(reference).toBe(logprob);
  });

  it('has no reference without β, and half the bytes in bfloat16', () => {
    expect(floors(1e12, 1e30, { beta: 0 }).reference).toBe(0);
    expect(floors(1e30, 1e9, { bf16: true }).decode).toBeCloseTo(floors(1e30, 1e9).decode / 2, 9);
  });
});
