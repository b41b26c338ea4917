import { describe, expect, it } from 'vitest';
import { CudaGraph, canCapture, cudaDeviceCount, tensor } from './index.js';

describe('CudaGraph', () => {
  it('says why nothing is recorded on a CPU', () => {
    expect(canCapture('cpu')).toBe(false);
    expect(() => new CudaGraph('cpu', () => tensor([1]))).toThrow(
      /only work of a CUDA device|Run: npx grpo setup/,
    );
  });

  it.runIf(canCapture('cuda') && cudaDeviceCount() > 0)('does the recorded work on what is there now', () => {
    const x = tensor([1, 2, 3], [3], { device: 'cuda:0' });
    const seen = tensor([0], [1], { device: 'cuda:0' });
    let runs = 0;
    const graph = new CudaGraph('cuda:0', () => {
      runs++;
      seen.add_(1);
      return x.mul(x).add(runs);
    });
    // The recorded run is the second; of the two only the first has done anything.
    expect(seen.toNumbers()).toEqual([1]);
    expect(graph.replay().toNumbers()).toEqual([3, 6, 11]);
    x.copy_(tensor([4, 5, 6], [3], { device: 'cuda:0' }));
    expect(graph.replay().toNumbers()).toEqual([18, 27, 38]);
    expect(seen.toNumbers()).toEqual([3]);
    expect(runs).toBe(2);
    graph.dispose();
    expect(() => graph.replay()).toThrow('the graph is disposed');
  });

  it.runIf(canCapture('cuda') && cudaDeviceCount() > 0)('throws what the work throws, and goes on', () => {
    let runs = 0;
    const failing = () => {
      if (++runs === 2) throw new Error('in the middle');
      return tensor([1], [1], { device: 'cuda:0' });
    };
    expect(() => new CudaGraph('cuda:0', failing)).toThrow('in the middle');
    const x = tensor([1], [1], { device: 'cuda:0' });
    expect(new CudaGraph('cuda:0', () => x.add(1)).replay().toNumbers()).toEqual([2]);
  });
});
