import { describe } from './describe.js';
import { type DType, dtypeCode } from './dtype.js';
import { type CpuLevels, native } from './native.js';

/** Threads that one operator may use. */
export function getThreads(): number {
  return native.getThreads();
}

export function setThreads(count: number): void {
  if (!Number.isSafeInteger(count))
    throw new RangeError(`threads must be a whole number, found ${describe(count)}`);
  native.setThreads(count);
}

/** Live tensor handles, and the bytes of the storages that they own. */
export function memory(): { tensors: number; bytes: number } {
  return native.memory();
}

/** Returns free memory of the allocators to the system and the device. */
export function emptyCache(): void {
  native.emptyCache();
}

/** Whether an error of the engine says that memory was short, on a device or on the host. */
export function isOutOfMemory(error: unknown): boolean {
  return error instanceof Error && (error as { code?: unknown }).code === 'OUT_OF_MEMORY';
}

/** Makes operators without a deterministic form throw. */
export function setDeterministic(enabled: boolean): void {
  native.setDeterministic(enabled);
}

/** Number of usable CUDA devices. */
export function cudaDeviceCount(): number {
  return native.cudaDeviceCount();
}

/** Whether there is a Metal device, the GPU of Apple's own processors. */
export function mpsAvailable(): boolean {
  return native.mpsAvailable();
}

/** Performs the operators that wait, and waits until a CUDA device has done all work. */
export function synchronize(): void {
  native.synchronize();
}

/** Levels of instruction sets of our own kernels: all, this processor's highest, and the one in use. */
export function cpuLevels(): CpuLevels {
  return native.cpuLevels();
}

/** Whether products of linear layers on the CPU are compiled for each of their shapes: about 2 ms, and 1 MB that is kept. */
export function compilesEachShape(dtype: DType): boolean {
  return native.compilesEachShape(dtypeCode(dtype));
}

/** libtorch's version, such as `2.13.0`. */
export function torchVersion(): string {
  return native.version();
}

/** libtorch's own account of how it was built: compiler, BLAS, vector instructions. */
export function buildConfiguration(): string {
  return native.buildConfiguration();
}
