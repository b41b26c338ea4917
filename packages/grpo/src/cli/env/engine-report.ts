import { cpuLevels, cudaDeviceCount, getThreads, mpsAvailable, torchVersion } from '@grpo/torch';
import { measureGflops } from '../../lab/bench/machine.js';
import { engineLibraries } from '../../run/circumstances.js';
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
