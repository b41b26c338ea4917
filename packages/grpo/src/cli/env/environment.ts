import { twoColumns } from '../text-layout.js';

/** Version and devices of the tensor engine. */
export interface EngineReport {
  /** libtorch's version, such as `2.13.0`. */
  libtorch: string;
  /** Threads that one operator may use. */
  threads: number;
  cudaDevices: number;
  /** Whether there is a Metal device. */
  mps: boolean;
  /** The library that multiplies matrices, as libtorch names it. */
  blas: string;
  /** Vector instructions in use, such as `AVX512`. */
  vector: string;
  /** Instruction sets of our own kernels: those in use, and the highest that the processor has. */
  kernels: { chosen: string; highest: string };
  /** 10⁹ floating-point operations per second of a square matrix product, on the fastest device. */
  gflops: { device: string; float32: number; bfloat16: number };
}

/** Report of `grpo env`. */
export interface EnvironmentReport {
  versions: { grpo: string; node: string };
  machine: { system: string; cpu: string; cores: number; memoryGiB: number };
  /** The build of the engine; absent before set-up. */
  build?: { libtorch: string; source: string; root: string; addon: string; compiler: string; node: string };
  /** Nothing when it is not set up, or does not load. */
  engine?: EngineReport;
  /** Why there is no engine, and the remedy. */
  problem?: string;
}

/** The report as a table of two columns. */
export function renderEnvironment({ versions, machine, build, engine, problem }: EnvironmentReport): string {
  const rows: [string, string][] = [
    ['grpo', versions.grpo],
    ['node', versions.node],
    ['system', machine.system],
    ['cpu', `${machine.cpu}, ${machine.cores} cores, ${machine.memoryGiB.toFixed(1)} GiB of memory`],
  ];
  if (build) {
    rows.push(
      ['libtorch', `${build.libtorch}, found by way of ${build.source}`],
      ['libtorch folder', build.root],
      ['addon', build.addon],
      ['built with', `${build.compiler}, for Node ${build.node}`],
    );
  }
  if (engine) {
    const { gflops } = engine;
    rows.push(
      ['engine', `libtorch ${engine.libtorch}`],
      [
        'devices',
        [
          'cpu',
          ...Array.from({ length: engine.cudaDevices }, (_, i) => `cuda:${i}`),
          ...(engine.mps ? ['mps'] : []),
        ].join(', '),
      ],
      ['threads', String(engine.threads)],
      ['BLAS', engine.blas],
      ['vector units', engine.vector],
      ['kernels', `${engine.kernels.chosen}; this processor has ${engine.kernels.highest}`],
      ['matrix product', `float32 ${gflops.float32.toFixed(0)} GFLOP/s on ${gflops.device}`],
      ['', `bfloat16 ${gflops.bfloat16.toFixed(0)} GFLOP/s on ${gflops.device}`],
    );
  }
  if (problem !== undefined) rows.push(['engine', problem]);
  return `${twoColumns(rows, 18, 200).join('\n')}\n`;
}
