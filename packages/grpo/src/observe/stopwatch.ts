import type { StepObserver } from '../step/observer.js';

/** Seconds spent in each stage of a step. */
export class Stopwatch implements StepObserver {
  readonly seconds: Record<string, number> = {};
  /** Seconds of the stages within the one that is open. */
  #within = 0;

  /** Does the work of a stage, and adds the time until it is done, without that of the stages within it. */
  stage<T>(name: string, work: () => T): T {
    const start = performance.now();
    const before = this.#within;
    this.#within = 0;
    const add = <V>(value: V): V => {
      const took = (performance.now() - start) / 1000;
      this.seconds[name] = (this.seconds[name] ?? 0) + took - this.#within;
      this.#within = before + took;
      return value;
    };
    const result = work();
    return result instanceof Promise ? (result.then(add) as T) : add(result);
  }
}
