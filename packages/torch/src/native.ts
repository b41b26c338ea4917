import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { whyNotLoaded, whyOtherLibtorch, whyReplaced } from './setup/fit.js';
import { readBuildRecord } from './setup/record.js';
import { SetupError } from './setup/run.js';

declare const tensorBrand: unique symbol;
declare const generatorBrand: unique symbol;
declare const recordingBrand: unique symbol;
declare const graphBrand: unique symbol;
declare const groupBrand: unique symbol;

/** A tensor as the addon hands it out: opaque, kept private by `Tensor`. */
export interface TensorHandle {
  readonly [tensorBrand]: true;
}

/** A random number generator as the addon hands it out. */
export interface GeneratorHandle {
  readonly [generatorBrand]: true;
}

/** Recorded calls as the addon hands them out. */
export interface RecordingHandle {
  readonly [recordingBrand]: true;
}

/** A CUDA graph as the addon hands it out. */
export interface GraphHandle {
  readonly [graphBrand]: true;
}

/** A process group as the addon hands it out. */
export interface GroupHandle {
  readonly [groupBrand]: true;
}

/** What a process group tells: ranks that have not come yet, a call's end, a process that is lost. */
export interface GroupEvent {
  kind: 'missing' | 'done' | 'failed' | 'lost' | 'serving';
  /** Of the call that is done or failed; that of joining is 0. */
  id: number;
  ranks: number[];
  reason: string;
  /** Everyone's bytes, of a gather. */
  gathered: ArrayBuffer[];
  /** Where the store listens that this process serves; 0 for other events. */
  port: number;
}

/** One formal argument of an operator's schema. */
export interface OperatorArgument {
  name: string;
  /** The schema's type, such as `Tensor?[]` or `ScalarType`. */
  type: string;
  keywordOnly: boolean;
  /** Has a default. */
  optional: boolean;
}

export interface ResolvedOperator {
  id: number;
  schema: string;
  arguments: OperatorArgument[];
  returns: string[];
  /** Writes into its first argument and returns just that; the addon's call then gives back nothing. */
  inPlace: boolean;
}

/** Levels of instruction sets that kernels of our own are compiled for. */
export interface CpuLevels {
  /** All of them, lowest first, whatever the processor has. */
  names: string[];
  /** The highest that this processor has. */
  highest: string;
  /** The one that the kernels use. */
  chosen: string;
}

interface NativeAddon {
  fromBytes(data: ArrayBufferView, shape: readonly number[], dtype: number): TensorHandle;
  toBytes(tensor: TensorHandle): ArrayBuffer;
  shape(tensor: TensorHandle): number[];
  dtype(tensor: TensorHandle): number;
  device(tensor: TensorHandle): string;
  isLive(tensor: TensorHandle): boolean;
  isContiguous(tensor: TensorHandle): boolean;
  dispose(tensor: TensorHandle): void;
  charge(tensor: TensorHandle): void;
  memory(): { tensors: number; bytes: number };
  resolve(name: string, overload: string): ResolvedOperator | null;
  call(id: number, ...args: unknown[]): unknown;
  record(inputs: readonly TensorHandle[], body: () => TensorHandle): RecordingHandle;
  replay(recording: RecordingHandle, inputs: readonly TensorHandle[]): TensorHandle;
  disposeRecording(recording: RecordingHandle): void;
  mark(tensor: TensorHandle): void;
  backward(
    tensors: TensorHandle[],
    gradients: (TensorHandle | null)[],
    retainGraph: boolean,
    listener: (() => void) | null,
  ): void;
  grad(
    outputs: TensorHandle[],
    inputs: TensorHandle[],
    gradients: (TensorHandle | null)[],
    retainGraph: boolean,
    createGraph: boolean,
  ): (TensorHandle | null)[];
  getGrad(tensor: TensorHandle): TensorHandle | null;
  setGrad(tensor: TensorHandle, gradient: TensorHandle | null): void;
  sumGradients(parameter: TensorHandle, sum: TensorHandle | null): void;
  requiresGrad(tensor: TensorHandle): boolean;
  setRequiresGrad(tensor: TensorHandle, value: boolean): void;
  setGradMode(enabled: boolean): boolean;
  enterInference(): void;
  leaveInference(): void;
  watchSignal(number: number): void;
  takeSignal(): number;
  setThreads(count: number): void;
  getThreads(): number;
  manualSeed(seed: number): void;
  createGenerator(seed: number): GeneratorHandle;
  getGeneratorState(generator: GeneratorHandle | null): TensorHandle;
  setGeneratorState(generator: GeneratorHandle | null, state: TensorHandle): void;
  setDeterministic(enabled: boolean): void;
  cudaDeviceCount(): number;
  synchronize(): void;
  emptyCache(): void;
  /** These three are there only where the addon was built with CUDA's headers. */
  captureGraph?(device: string, body: () => void): GraphHandle;
  replayGraph?(graph: GraphHandle): void;
  disposeGraph?(graph: GraphHandle): void;
  /** These six are there only where the libtorch has process groups. */
  joinGroup?(options: object, listener: (event: GroupEvent) => void): GroupHandle;
  callGroup?(
    group: GroupHandle,
    id: number,
    kind: 'sum' | 'broadcast' | 'gather' | 'barrier',
    tensors: TensorHandle[],
    bytes: Uint8Array,
  ): void;
  holdLoop?(group: GroupHandle, holds: boolean): void;
  tellProgress?(group: GroupHandle): void;
  failGroup?(group: GroupHandle, reason: string): void;
  leaveGroup?(group: GroupHandle, id: number): void;
  mpsAvailable(): boolean;
  cpuLevels(): CpuLevels;
  capCpuLevel(name: string): void;
  compilesEachShape(dtype: number): boolean;
  version(): string;
  buildConfiguration(): string;
}

function load(): NativeAddon {
  const record = readBuildRecord();
  if (!record) {
    const { LIBTORCH } = process.env;
    throw new SetupError(
      `libtorch is not set up yet${LIBTORCH ? ` for LIBTORCH=${LIBTORCH}` : ''}. Run: npx grpo setup`,
    );
  }
  const replaced = whyReplaced(record.libtorch);
  if (replaced) throw new SetupError(`${replaced}. Run: npx grpo setup`);
  // Set before libgomp is loaded: its threads spin this long, but not while others want the cores (waiting.cc).
  if (process.env.OMP_WAIT_POLICY === undefined) process.env.GOMP_SPINCOUNT ??= '100000';
  let addon: NativeAddon;
  try {
    addon = createRequire(import.meta.url)(record.addon) as NativeAddon;
  } catch (cause) {
    throw new SetupError(whyNotLoaded(record.libtorch, (cause as Error).message), { cause });
  }
  const other = whyOtherLibtorch(addon.version(), addon.buildConfiguration());
  if (other) throw new SetupError(`the libtorch addon cannot be used: ${other}`);
  capCpuLevel(addon);
  // Debian's libtorch starts with one thread whatever the machine has.
  addon.setThreads(threadCount());
  return addon;
}

function capCpuLevel(addon: NativeAddon): void {
  const wanted = process.env.GRPO_CPU_LEVEL;
  if (!wanted) return;
  const { names } = addon.cpuLevels();
  if (!names.includes(wanted))
    throw new SetupError(`GRPO_CPU_LEVEL must be one of ${names.join(', ')}, found '${wanted}'`);
  addon.capCpuLevel(wanted);
}

/** `GRPO_THREADS`, or as many as there are processors. */
function threadCount(): number {
  const wanted = process.env.GRPO_THREADS;
  if (!wanted) return availableParallelism();
  if (!/^[1-9]\d*$/.test(wanted))
    throw new SetupError(`GRPO_THREADS must be a whole number of at least 1, found '${wanted}'`);
  return Number(wanted);
}

const checks: (() => void)[] = [];

/** @internal Calls a function as soon as the addon is loaded; its error is thrown by the use that loaded the addon. */
export function onLoad(check: () => void): void {
  checks.push(check);
}

const unloaded = new Proxy({} as NativeAddon, {
  get(_, name) {
    native = load();
    try {
      for (const check of checks) check();
    } catch (error) {
      native = unloaded;
      throw error;
    }
    return native[name as keyof NativeAddon];
  },
});

/**
 * The addon: the one place where JavaScript meets libtorch. Its first use loads it, so that what needs no tensor runs
 * without libtorch; from then on this is the addon itself.
 */
export let native: NativeAddon = unloaded;
