import { memory, type Tensor } from '@grpo/torch';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { Decoder } from '../models/index.js';
import { type Completion, plainSampling } from './completion.js';
import { architectures, expectedOf, fixture, range } from './rollout.test.helper.js';
import { sample } from './sampler.js';

/** A CUDA graph, or its stand-in. */
interface Graph {
  replay(): Tensor;
  dispose(): void;
}

/** Whether steps are recorded, and how often they were recorded and replayed. */
const recorder = vi.hoisted(() => ({ on: false, recordings: 0, replays: 0 }));

vi.mock('@grpo/torch', async (original) => {
  const torch = await original<typeof import('@grpo/torch')>();
  const { tapeOf } = await import('./tape.test.helper.js');
  const DEVICE = process.env.GRPO_DEVICE || 'cpu';
  const Plain: new (device: string, body: () => Tensor) => Graph = torch.canCapture(DEVICE)
    ? torch.CudaGraph
    : tapeOf(torch);
  class CountedGraph extends Plain {
    constructor(device: string, body: () => Tensor) {
      super(device, body);
      recorder.recordings++;
    }
    override replay() {
      recorder.replays++;
      return super.replay();
    }
  }
  return { ...torch, canCapture: () => recorder.on, CudaGraph: CountedGraph };
});

afterEach(() => {
  vi.restoreAllMocks();
  recorder.on = false;
});

/** @param most - that log-probs may differ by */
function expectSame(completions: readonly Completion[], others: readonly Completion[], most: number): void {
  for (const [i, { ids, logprobs }] of completions.entries()) {
    expect(ids).toEqual(others[i]!.ids);
    const off = logprobs.map((x, j) => Math.abs(x - others[i]!.logprobs[j]!));
    expect(Math.max(...off)).toBeLessThanOrEqual(most);
  }
}

describe('a step that is recorded and replayed', () => {
  it.each(architectures)(
    'samples the same of %s as rows leave, prompts end and columns fill',
    async (name) => {
      const model = fixture(name);
      const requests = expectedOf(name)
        .prompts.slice(0, 3)
        .map((ids, i) => ({ ids, count: 2 + i, keys: [i], limits: range(2 + i).map((row) => 4 + 30 * row) }));
      const rollout = async () =>
        (await sample(model, requests, { ...plainSampling, maxNewTokens: 100 }, 3)).flat();
      const fused = await rollout();
      vi.spyOn(Decoder.prototype, 'fuses', 'get').mockReturnValue(false);
      const plain = await rollout();
      // Two attentions round differently, as ours and that of transformers do.
      expectSame(plain, fused, 2e-5);

      const before = memory();
      Object.assign(recorder, { on: true, recordings: 0, replays: 0 });
      expectSame(await rollout(), plain, 0);
      expect(memory()).toEqual(before);
      // A completion's first token comes with its prompt.
      const steps = Math.max(...plain.map(({ ids }) => ids.length)) - 1;
      expect(recorder.replays).toBe(steps);
      expect(recorder.recordings).toBeGreaterThan(2);
      expect(recorder.recordings).toBeLessThan(steps / 8);
    },
  );
});
