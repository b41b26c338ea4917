/** Finds out which metrics a log prints with a fixed number of decimals: their 0.000 may be any small number. */

interface Printed {
  decimals: number;
  count: number;
  /** Whether a zero stands at the end that no number needs, as in `0.500`. */
  padded: boolean;
  fixed: boolean;
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
    if (known) {
      known.count++;
      known.padded ||= padded;
      known.fixed &&= known.decimals === decimals.length;
    } else if (this.#printed.size < MOST_NAMES)
      this.#printed.set(name, { decimals: decimals.length, count: 1, padded, fixed: true });
  }

  /** Names of the log with their decimals. */
  result(): Readonly<Record<string, number>> {
    const rounded = [...this.#printed].filter(
      ([, { fixed, padded, decimals }]) => fixed && padded && decimals <= MOST_DECIMALS,
    );
    return Object.fromEntries(rounded.map(([name, { decimals }]) => [name, decimals]));
  }
}
