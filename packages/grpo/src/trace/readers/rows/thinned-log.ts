/** Entries of a log of any length in bounded memory: when there are too many, every second one goes. */

/** Between half of it and all of it are kept; ten thousand points are more than any trend or picture needs. */
export const MOST_ENTRIES = 20_000;

export class ThinnedLog<T extends { step: number }> {
  #kept: T[] = [];
  #last: T | undefined;
  #seen = 0;
  #every = 1;

  /** Every n-th entry is kept, the first among them. */
  get every(): number {
    return this.#every;
  }

  add(entry: T): void {
    this.#last = entry;
    if (this.#seen++ % this.#every === 0) this.#keep(entry, this.#kept.length);
  }

  /** Puts an entry among those of earlier and later steps; false where its step is there. */
  insert(entry: T): boolean {
    if (this.#seen++ % this.#every !== 0) return true;
    const isFirst = entry.step < (this.#kept[0]?.step ?? 0);
    // A search for each row of a long log with the newest first would take minutes.
    const before = isFirst ? -1 : this.#kept.findLastIndex(({ step }) => step <= entry.step);
    if (this.#kept[before]?.step === entry.step) return false;
    this.#keep(entry, before + 1);
    return true;
  }

  #keep(entry: T, at: number): void {
    this.#kept.splice(at, 0, entry);
    if (this.#kept.length < MOST_ENTRIES) return;
    this.#kept = this.#kept.filter((_, i) => i % 2 === 0);
    this.#every *= 2;
  }

  /** Forgets what has this step or a later one. */
  rewind(step: number): void {
    while (this.#kept.length > 0 && this.#kept.at(-1)!.step >= step) this.#kept.pop();
    this.#last = this.#kept.at(-1);
  }

  /** What is kept, in the order of adding, and the last entry. */
  entries(): T[] {
    const last = this.#last;
    return last && this.#kept.at(-1) !== last ? [...this.#kept, last] : [...this.#kept];
  }
}
