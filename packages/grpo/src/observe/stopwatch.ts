import type { StepObserver } from '../step/observer.js';

/** Seconds spent in each stage of a step. */
export class Stopwatch implements StepObserver {
  readonly seconds: Record<string, number> = {};

  /** Does the work of a stage, and adds the time until it is done. */
  stage<T>(name: string, work: () => T): T {
    const start = performance.now();
    const add = <V>(value: V): V => {
      this.seconds[name] = (this.seconds[name] ?? 0) + (performance.now() - start) / 1000;
      return value;
    };
    const result = work();
    return result instanceof Promise ? (result.then(add) as T) : add(result);
  }
}
