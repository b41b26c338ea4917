/** Seconds spent in each stage of a step. */
export class Stopwatch {
  readonly seconds: Record<string, number> = {};

  time<T>(stage: string, work: () => T): T {
    const start = performance.now();
    const result = work();
    this.#add(stage, start);
    return result;
  }

  async timeAsync<T>(stage: string, work: () => Promise<T>): Promise<T> {
    const start = performance.now();
    const result = await work();
    this.#add(stage, start);
    return result;
  }

  #add(stage: string, start: number): void {
    this.seconds[stage] = (this.seconds[stage] ?? 0) + (performance.now() - start) / 1000;
  }
}
