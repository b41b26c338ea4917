import { describe } from './describe.js';
import { type GeneratorHandle, native } from './native.js';
import { liveHandle, Tensor } from './tensor.js';

let read: (generator: Generator) => GeneratorHandle;

/** A stream of random numbers of its own, on the CPU. */
export class Generator {
  readonly #handle: GeneratorHandle;

  static {
    read = (generator) => generator.#handle;
  }

  constructor(seed: number) {
    this.#handle = native.createGenerator(wholeSeed(seed));
  }

  /** The whole state, as a uint8 tensor that `state =` takes back. */
  get state(): Tensor {
    return new Tensor(native.getGeneratorState(this.#handle));
  }

  set state(value: Tensor) {
    native.setGeneratorState(this.#handle, liveHandle(value, 'the state'));
  }
}

/** @internal */
export const generatorHandle = (generator: Generator): GeneratorHandle => read(generator);

/** Seeds the process-wide generators of all devices. */
export function manualSeed(seed: number): void {
  native.manualSeed(wholeSeed(seed));
}

function wholeSeed(seed: number): number {
  if (!Number.isSafeInteger(seed)) throw new RangeError(`a seed is a whole number, found ${describe(seed)}`);
  return seed;
}

/** State of the process-wide CPU generator. */
export function getRngState(): Tensor {
  return new Tensor(native.getGeneratorState(null));
}

export function setRngState(state: Tensor): void {
  native.setGeneratorState(null, liveHandle(state, 'the state'));
}
