/** The step that is pointed at, on all charts. */

/** Calls its listeners at most once per frame. */
export class CommonCursor {
  step: number | undefined;
  readonly #listeners = new Set<() => void>();
  #frame = 0;

  move(step: number | undefined): void {
    if (step === this.step) return;
    this.step = step;
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      for (const listener of this.#listeners) listener();
    });
  }

  listen(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }
}
