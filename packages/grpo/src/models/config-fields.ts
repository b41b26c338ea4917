import { UserError } from '../errors/user-error.js';
import { describeJson, isObject } from '../formats/json.js';

/** A tensor with a longer side than this does not exist; the product of two sides stays exact. */
const MAX_SIZE = 2 ** 26;

/** Typed reads from a Hugging Face `config.json` or an object inside it; each error names the file and the key. */
export class ConfigFields {
  /** @param prefix - text before a key in errors, such as `rope_parameters.` */
  constructor(
    private readonly json: Readonly<Record<string, unknown>>,
    private readonly file: string,
    private readonly prefix = '',
  ) {}

  fail(problem: string, hint?: string): never {
    throw new UserError(`${this.file}: ${problem}`, { hint });
  }

  /** The value as it stands; transformers writes null for a key that is not set. */
  value(key: string): unknown {
    return this.json[key] ?? undefined;
  }

  number(key: string, fallback?: number): number {
    const value = this.value(key) ?? fallback;
    if (value === undefined) this.#wrong(key, 'is missing');
    if (typeof value !== 'number' || !Number.isFinite(value))
      this.#wrong(key, `must be a number, found ${describeJson(value)}`);
    return value;
  }

  /** A number above 0 and below 1. */
  fraction(key: string, fallback?: number): number {
    const value = this.number(key, fallback);
    if (value <= 0 || value >= 1) this.#wrong(key, `must be between 0 and 1, found ${value}`);
    return value;
  }

  /** A number of at least 1. */
  factor(key: string, fallback?: number): number {
    const value = this.number(key, fallback);
    if (value < 1) this.#wrong(key, `must be at least 1, found ${value}`);
    return value;
  }

  /** A number above 0. */
  positive(key: string, fallback?: number): number {
    const value = this.number(key, fallback);
    if (value <= 0) this.#wrong(key, `must be above 0, found ${value}`);
    return value;
  }

  /** A number above 0, or none where the file says null; `fallback` where it has no such key. */
  optional(key: string, fallback?: number): number | undefined {
    if (this.json[key] === null) return undefined;
    return this.json[key] === undefined ? fallback : this.positive(key);
  }

  /** A whole number from 1 to `most`. */
  size(key: string, fallback?: number, most = MAX_SIZE): number {
    const value = this.number(key, fallback);
    if (!Number.isInteger(value) || value < 1)
      this.#wrong(key, `must be a whole number of at least 1, found ${value}`);
    if (value > most) this.#wrong(key, `must be at most ${most}, found ${value}`);
    return value;
  }

  /** A list with so many entries, each read by `read`. */
  list<T>(
    key: string,
    length: number,
    read: (entry: unknown) => T | undefined,
    kind: string,
  ): T[] | undefined {
    const value = this.value(key);
    if (value === undefined) return undefined;
    if (!Array.isArray(value)) this.#wrong(key, `must be a list, found ${describeJson(value)}`);
    if (value.length !== length) this.#wrong(key, `must have ${length} entries, found ${value.length}`);
    return value.map((entry, i) => {
      const found = read(entry);
      if (found === undefined) this.#wrong(`${key}[${i}]`, `must be ${kind}, found ${describeJson(entry)}`);
      return found;
    });
  }

  /** The id of a token. */
  id(key: string, vocabSize: number): number {
    const value = this.number(key);
    if (!Number.isInteger(value) || value < 0 || value >= vocabSize)
      this.#wrong(key, `must be an id below ${vocabSize}, the model's vocabulary, found ${value}`);
    return value;
  }

  flag(key: string, fallback: boolean): boolean {
    const value = this.value(key) ?? fallback;
    if (typeof value !== 'boolean') this.#wrong(key, `must be true or false, found ${describeJson(value)}`);
    return value;
  }

  object(key: string): ConfigFields | undefined {
    const value = this.value(key);
    if (value === undefined) return undefined;
    if (!isObject(value)) this.#wrong(key, `must be an object, found ${describeJson(value)}`);
    return new ConfigFields(value, this.file, `${this.prefix}${key}.`);
  }

  /** The entry of `choices` that the key names. */
  choice<T>(key: string, choices: ReadonlyMap<string, T>, fallback?: string): T {
    const name = this.value(key) ?? fallback;
    if (name === undefined) this.#wrong(key, 'is missing');
    const found = typeof name === 'string' ? choices.get(name) : undefined;
    if (found === undefined) {
      this.#wrong(
        key,
        `${describeJson(name)} is not supported; supported: ${[...choices.keys()].join(', ')}`,
      );
    }
    return found;
  }

  #wrong(key: string, problem: string): never {
    return this.fail(`${this.prefix}${key} ${problem}`);
  }
}
