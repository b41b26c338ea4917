import { existsSync, readFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import {
  type DType,
  empty,
  linear,
  noGrad,
  packedLinear,
  packLinear,
  synchronize,
  type Tensor,
  tidy,
} from '@grpo/torch';
import { median } from '../../maths/quantile.js';

/** Best rate of a product of rows `[rows, inputs]` with a weight `[outputs, inputs]` that a cache holds, FLOP/s. */
export type ProductRate = (rows: number, inputs: number, outputs: number) => number;

const STAT = '/proc/stat';

/** Seconds of the cores' time, summed, that a virtual machine's host has kept for others; 0 where that is not known. */
export function stolenSeconds(): number {
  return existsSync(STAT) ? stolenIn(readFileSync(STAT, 'utf8')) : 0;
}

/** The eighth number of all cores' line, in hundredths of a second: see proc(5). */
export const stolenIn = (stat: string): number =>
  Number(/^cpu +(?:\d+ +){7}(\d+)/m.exec(stat)?.[1] ?? 0) / 100;

const TRIAD_NUMBERS = 2 ** 26;
/** Larger weights are cut: it is the arithmetic that is measured. */
const WEIGHT_BYTES = 2 ** 22;
const [MILLISECONDS, RUNS] = [10, 5];
/** The memory is measured once: others may want all of it for a while. */
const TRIAD_MILLISECONDS = 1000;

/** The machine's rates now: each is measured when it is first asked for. */
export function productRates(dtype: DType, device: string): ProductRate {
  const rates = new Map<string, number>();
  return (rows, inputs, outputs) => {
    const most = Math.max(16, Math.floor(WEIGHT_BYTES / (inputs * (dtype === 'bfloat16' ? 2 : 4))));
    const shape = [rows, inputs, Math.min(outputs, most)] as const;
    const key = shape.join(' ');
    if (!rates.has(key)) rates.set(key, productRate(shape, dtype, device));
    return rates.get(key)!;
  };
}

/** Memory traffic of a + s × b → a on arrays that no cache holds, bytes/s: both are read, one is written. */
export function bandwidth(device: string): number {
  return tidy(() => {
    const [a, b] = [1, 2].map((value) => empty([TRIAD_NUMBERS], { device }).fill_(value)) as [Tensor, Tensor];
    return (
      (3 * 4 * TRIAD_NUMBERS) / leastSeconds(() => a.add_(b, { alpha: 0.5 }), device, TRIAD_MILLISECONDS)
    );
  });
}

function productRate(
  [rows, inputs, outputs]: readonly [number, number, number],
  dtype: DType,
  device: string,
) {
  return noGrad(() =>
    tidy(() => {
      const random = (...shape: number[]) => empty(shape, { device }).uniform_().to(dtype);
      const [x, weight] = [random(rows, inputs), random(outputs, inputs)];
      const packed = packLinear(weight);
      const seconds = Math.min(
        leastSeconds(() => linear(x, weight).dispose(), device),
        leastSeconds(() => packedLinear(x, packed, outputs).dispose(), device),
      );
      return (2 * rows * inputs * outputs) / seconds;
    }),
  );
}

/** Work that a device queues is timed so many times together: starting it, and waiting for it, take longer than it does. */
const timesTogether = (device: string) => (device === 'cpu' ? 1 : 20);

/** Seconds of the shortest of many runs: others may use the machine too. */
function leastSeconds(run: () => void, device: string, milliseconds = MILLISECONDS): number {
  run();
  const times = timesTogether(device);
  let [least, runs] = [Number.POSITIVE_INFINITY, 0];
  const end = performance.now() + milliseconds;
  while (runs++ < RUNS || performance.now() < end) {
    synchronize();
    const start = performance.now();
    for (let i = 0; i < times; i++) run();
    synchronize();
    least = Math.min(least, (performance.now() - start) / times);
  }
  return least / 1000;
}

/** Rows of the square product: a GPU has much to do at once. */
const sideOf = (device: string) => (device === 'cpu' ? 1024 : 8192);

/** 10⁹ floating-point operations per second of a square matrix product: the median of repeated runs. */
export function measureGflops(dtype: DType, device: string): number {
  return tidy(() => {
    const side = sideOf(device);
    const a = empty([side, side], { device }).uniform_().to(dtype);
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
    return (2 * side ** 3) / median(seconds) / 1e9;
  });
}
