import { native } from './native.js';

/** Threads that one operator may use. */
export function getThreads(): number {
  return native.getThreads();
}

export function setThreads(count: number): void {
  if (!Number.isInteger(count) || count < 1)
    throw new RangeError(`threads must be a whole number of at least 1, found ${count}`);
  native.setThreads(count);
}

/** Live tensor handles, and the bytes of the storages that they own. */
export function memory(): { tensors: number; bytes: number } {
  return native.memory();
}

/** Gives memory that the C allocator holds back to the system: worth it between stages, not inside them. */
export function trimMemory(): void {
  native.trimMemory();
}

/** Makes operators without a deterministic form throw. */
export function setDeterministic(enabled: boolean): void {
  native.setDeterministic(enabled);
}

/** Number of usable CUDA devices. */
export function cudaDeviceCount(): number {
  return native.cudaDeviceCount();
}

/** Waits until the CUDA device has done all work; nothing without one. */
export function synchronize(): void {
  if (native.cudaDeviceCount() > 0) native.cudaSynchronize();
}

/** libtorch's version, such as `2.13.0`. */
export function torchVersion(): string {
  return native.version();
}

/** libtorch's own account of how it was built: compiler, BLAS, vector instructions. */
export function buildConfiguration(): string {
  return native.buildConfiguration();
}
