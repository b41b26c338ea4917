import { type Keywords, kindOf, type Value } from './values.js';

/** The arguments of one call, by the names that Python gives its parameters. */
export class CallArguments {
  readonly #given = new Map<string, Value>();

  /** @throws Error for too many arguments, and for one that the function does not have or that is not supported. */
  constructor(
    readonly owner: string,
    parameters: readonly string[],
    args: readonly Value[],
    keywords: Keywords,
  ) {
    if (args.length > parameters.length) {
      throw new Error(
        `${owner} is supported with at most ${parameters.length} arguments, found ${args.length}`,
      );
    }
    for (const [i, value] of args.entries()) this.#given.set(parameters[i]!, value);
    for (const [name, value] of keywords) {
      if (!parameters.includes(name)) throw new Error(`${owner}: the argument ${name} is not supported`);
      if (this.#given.has(name)) throw new Error(`${owner}: the argument ${name} is given twice`);
      this.#given.set(name, value);
    }
  }

  has(name: string): boolean {
    return this.#given.has(name);
  }

  /** Any value, undefined too. */
  value(name: string, otherwise?: Value): Value {
    return this.#given.has(name) ? this.#given.get(name) : otherwise;
  }

  text(name: string, otherwise?: string): string {
    return this.#checked(name, otherwise, 'text', (value) => typeof value === 'string');
  }

  /** Text, or nothing where Python takes None for the default. */
  textOrNone(name: string): string | undefined {
    return this.value(name) === null ? undefined : this.#given.has(name) ? this.text(name) : undefined;
  }

  int(name: string, otherwise?: number): number {
    return this.#checked(name, otherwise, 'an int', (value) => typeof value === 'number');
  }

  /** A flag may be any number or bool in Python; others are refused. */
  flag(name: string): boolean {
    return this.#checked(name, false, 'a bool', (value) => typeof value === 'boolean');
  }

  #checked<T extends Value>(
    name: string,
    otherwise: T | undefined,
    wanted: string,
    is: (value: Value) => boolean,
  ): T {
    const value = this.#given.has(name) ? this.#given.get(name) : otherwise;
    if (is(value)) return value as T;
    throw new Error(`${this.owner}: ${name} must be ${wanted}, found ${kindOf(value)}`);
  }
}
