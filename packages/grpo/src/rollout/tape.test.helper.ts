import { createRequire } from 'node:module';
import type { Tensor } from '@grpo/torch';
import { readBuildRecord } from '@grpo/torch/setup';

type Call = (id: number, ...args: unknown[]) => unknown;

/** The part of the addon that a recording uses. */
interface Addon {
  call: Call;
  dispose(handle: unknown): void;
  resolve(name: string, overload: string): { id: number };
  fromBytes(...args: unknown[]): unknown;
  toBytes(...args: unknown[]): unknown;
}

/**
 * Stands for `CudaGraph` where there is no GPU. It notes the calls of operators with their arguments as they are, numbers
 * and tensors, and does them again on the same memory: what a replay would do wrong on a GPU, it does wrong here. Values
 * that are read or brought while recording, which a GPU refuses, it refuses as well.
 */
export function tapeOf({ keep, tidy }: typeof import('@grpo/torch')) {
  const addon = createRequire(import.meta.url)(readBuildRecord()!.addon) as Addon;
  const copy = addon.resolve('aten::copy_', '').id;

  return class Tape {
    readonly #calls: { args: Parameters<Call>; result: unknown }[] = [];
    /** Tensors that are freed while recording: a graph keeps their memory for itself. */
    readonly #freed: unknown[] = [];
    readonly #result: Tensor;

    constructor(_device: string, body: () => Tensor) {
      tidy(body).dispose();
      const { call, dispose, fromBytes, toBytes } = addon;
      const refuse = () => {
        throw new Error('a value cannot come or go while recording');
      };
      Object.assign(addon, { fromBytes: refuse, toBytes: refuse });
      addon.dispose = (handle) => this.#freed.push(handle);
      addon.call = (...args) => {
        const result = call(...args);
        this.#calls.push({ args, result });
        return result;
      };
      try {
        this.#result = keep(tidy(body));
      } finally {
        Object.assign(addon, { call, dispose, fromBytes, toBytes });
      }
    }

    replay(): Tensor {
      for (const { args, result } of this.#calls) overwrite(result, addon.call(...args));
      return this.#result;
    }

    dispose(): void {
      for (const handle of this.#freed) addon.dispose(handle);
      this.#result.dispose();
    }
  };

  function overwrite(result: unknown, again: unknown): void {
    if (Array.isArray(result))
      for (const [i, one] of result.entries()) overwrite(one, (again as unknown[])[i]);
    else if (typeof result === 'object' && result !== null) {
      addon.call(copy, result, again);
      addon.dispose(again);
    }
  }
}
