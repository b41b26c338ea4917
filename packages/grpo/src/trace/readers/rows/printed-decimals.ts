/** Finds out which metrics a log prints with a fixed number of decimals: their 0.000 may be any small number. */

interface Printed {
  decimals: number;
  count: number;
  /** Whether a zero stands at the end that no number needs, as in `0.500`. */
  padded: boolean;
  fixed: boolean;
  /** Decimals of a zero such as `0.000`. */
  zero?: number;
}

/** A double has more digits than this; so many decimals round nothing away. */
const MOST_DECIMALS = 8;
const MOST_NAMES = 1000;

export class PrintedDecimals {
  readonly #printed = new Map<string, Printed>();

  see(name: string, text: string): void {
    const decimals = /^[-+]?\d+\.(\d+)$/.exec(text)?.[1];
    const known = this.#printed.get(name);
    if (decimals === undefined) {
      if (known && /\d/.test(text)) known.fixed = false;
      return;
    }
    const padded = decimals.length > 1 && decimals.endsWith('0');
    const zero = decimals.length > 1 && Number(text) === 0 ? { zero: decimals.length } : {};
    if (known) {
      Object.assign(known, zero);
      known.count++;
      known.padded ||= padded;
      known.fixed &&= known.decimals === decimals.length;
    } else if (this.#printed.size < MOST_NAMES)
      this.#printed.set(name, { decimals: decimals.length, count: 1, padded, fixed: true, ...zero });
  }

  /** Names of the log with their decimals. */
  result(): Readonly<Record<string, number>> {
    const rounded = [...this.#printed].flatMap(([name, { fixed, padded, decimals, zero }]) => {
      // Someone may have shortened single numbers, but a zero with decimals stands for what is smaller than the last of them.
      const told = fixed && padded ? decimals : zero;
      return told !== undefined && told <= MOST_DECIMALS ? [[name, told] as const] : [];
    });
    return Object.fromEntries(rounded);
  }
}
