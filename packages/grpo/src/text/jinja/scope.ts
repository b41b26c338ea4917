import type { Symbols } from './symbols.js';
import type { Value } from './values.js';

/** Variables of a block. A block sees those of the blocks around it; a variable that it sets stays within it. */
export class Scope {
  readonly #variables = new Map<string, Value>();
  readonly #names = new Set<string>();

  constructor(readonly parent?: Scope) {}

  get(name: string): Value {
    return this.#variables.has(name) ? this.#variables.get(name) : this.parent?.get(name);
  }

  set(name: string, value: Value): void {
    this.#variables.set(name, value);
  }

  /** Claims the names that the block sets first, unless a block around it or one of its parameters has them. */
  enter({ names, setFirst }: Symbols): this {
    for (const name of this.#variables.keys()) this.#names.add(name);
    for (const name of setFirst) if (!this.has(name)) this.set(name, undefined);
    for (const name of names) this.#names.add(name);
    return this;
  }

  /** Whether this block or one around it claims the name. */
  has(name: string): boolean {
    return this.#names.has(name) || (this.parent?.has(name) ?? false);
  }
}
