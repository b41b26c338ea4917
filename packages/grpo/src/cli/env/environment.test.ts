import { describe, expect, it } from 'vitest';
import { type EnvironmentReport, renderEnvironment } from './environment.js';

const BARE: EnvironmentReport = {
  versions: { grpo: '0.1.0', node: 'v20.20.2' },
  machine: { system: 'Linux 6.1 x64', cpu: 'A processor', cores: 2, memoryGiB: 23.54 },
};

describe('renderEnvironment', () => {
  it('shows what there is', () => {
    const text = renderEnvironment({
      ...BARE,
      build: {
        libtorch: '2.13.0',
        source: 'cache',
        root: '/t',
        addon: '/a',
        compiler: 'c++ 12',
        node: 'v20.20.2',
      },
      engine: {
        libtorch: '2.13.0',
        threads: 2,
        cudaDevices: 1,
        mps: true,
        blas: 'mkl',
        vector: 'AVX512',
        kernels: { chosen: 'avx2', highest: 'avx512' },
        gflops: { device: 'cuda', float32: 190.4, bfloat16: 430 },
      },
    });
    for (const part of [
      'v20.20.2',
      '23.5 GiB',
      '/t',
      '/a',
      'cpu, cuda:0, mps',
      'mkl',
      'avx2; this processor has avx512',
      '190 GFLOP/s',
      '430 GFLOP/s',
    ]) {
      expect(text).toContain(part);
    }
  });

  it('says why there is no engine', () => {
    expect(renderEnvironment({ ...BARE, problem: 'not set up yet.' })).toMatch(/^engine +not set up yet\.$/m);
  });
});
