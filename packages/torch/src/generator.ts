import { type GeneratorHandle, native } from './native.js';
import { handleOf, Tensor } from './tensor.js';

let read: (generator: Generator) => GeneratorHandle;

/** A stream of random numbers of its own, on the CPU. */
export class Generator {
  readonly #handle: GeneratorHandle;

  static {
    read = (generator) => generator.#handle;
  }

  constructor(seed: number) {
    this.#handle = native.createGenerator(seed);
  }

  /** The whole state, as a uint8 tensor that `state =` takes back. */
  get state(): Tensor {
    return new Tensor(native.getGeneratorState(this.#handle));
  }

  set state(value: Tensor) {
    native.setGeneratorState(this.#handle, handleOf(value));
  }
}

/** @internal */
export const generatorHandle = (generator: Generator): GeneratorHandle => read(generator);

/** Seeds the process-wide generators of all devices. */
export function manualSeed(seed: number): void {
  native.manualSeed(seed);
}

/** State of the process-wide CPU generator. */
export function getRngState(): Tensor {
  return new Tensor(native.getGeneratorState(null));
}

export function setRngState(state: Tensor): void {
  native.setGeneratorState(null, handleOf(state));
}
