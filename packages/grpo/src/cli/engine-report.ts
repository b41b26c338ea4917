import { performance } from 'node:perf_hooks';
import {
  cpuLevels,
  cudaDeviceCount,
  type DType,
  empty,
  getThreads,
  linear,
  mpsAvailable,
  synchronize,
  tidy,
  torchVersion,
} from '@grpo/torch';
import { median } from '../maths/quantile.js';
import { engineLibraries } from '../train/circumstances.js';
import type { EngineReport } from './environment.js';

/** Asks the tensor engine about itself and measures its matrix product: about two seconds. */
export function reportEngine(): EngineReport {
  const { blas = 'not stated', vector = 'not stated' } = engineLibraries();
  const device = cudaDeviceCount() > 0 ? 'cuda' : 'cpu';
  return {
    libtorch: torchVersion(),
    threads: getThreads(),
    cudaDevices: cudaDeviceCount(),
    mps: mpsAvailable(),
    blas,
    vector,
    kernels: cpuLevels(),
    gflops: {
      device,
      float32: measureGflops('float32', device),
      bfloat16: measureGflops('bfloat16', device),
    },
  };
}

const SIDE = 1024;

/** 10⁹ floating-point operations per second of a square matrix product: the median of repeated runs. */
export function measureGflops(dtype: DType, device: string): number {
  return tidy(() => {
    const a = empty([SIDE, SIDE], { device }).uniform_().to(dtype);
    const once = () => {
      const start = performance.now();
      linear(a, a).dispose();
      synchronize();
      return (performance.now() - start) / 1000;
    };
    // The first runs pay for threads, memory and the choice of a kernel.
    once();
    once();
    const seconds: number[] = [];
    const end = performance.now() + 500;
    do seconds.push(once());
    while (performance.now() < end);
    return (2 * SIDE ** 3) / median(seconds) / 1e9;
  });
}
