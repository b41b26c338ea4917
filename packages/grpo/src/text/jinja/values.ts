/**
 * Values of a template. Text, booleans, `null` (None) and `undefined` (Undefined) are JavaScript's own; a
 * `number` is always an int, a float is a {@link Float}; a list is an array, a dict a Map with text keys.
 */
export type Value =
  | string
  | number
  | boolean
  | null
  | undefined
  | Value[]
  | Dict
  | Float
  | Tuple
  | View
  | Lazy
  | Markup
  | Namespace
  | Loop
  | Callable;

export type Dict = Map<string, Value>;

export class Float {
  constructor(readonly value: number) {}
}

export class Tuple {
  constructor(readonly items: readonly Value[]) {}
}

/** Result of `dict.items()`, `keys()`, `values()` and `range`: it can be iterated several times. */
export class View {
  constructor(
    readonly items: readonly Value[],
    /** Only a range takes an index. */
    readonly indexable: boolean,
  ) {}
}

/** Python's generator, which most filters return: it is iterated once, has no length, and is never false. */
export class Lazy {
  constructor(readonly rest: Value[]) {}
}

/** Result of the filter `safe`. Python escapes text that is added to it, so only printing is supported. */
export class Markup {
  constructor(readonly text: string) {}
}

export class Namespace {
  constructor(readonly attributes: Dict) {}
}

/** The variable `loop`. */
export class Loop {
  constructor(
    readonly items: readonly Value[],
    readonly index0: number,
  ) {}
}

export type Keywords = ReadonlyMap<string, Value>;

export class Callable {
  constructor(
    readonly name: string,
    readonly call: (args: readonly Value[], keywords: Keywords) => Value,
  ) {}
}

/**
 * A value of the program as a value of the template. A whole number becomes an int: JavaScript has no other 1.0.
 * @throws Error for values without a counterpart among Python's dicts, lists, texts and numbers.
 */
export function toValue(input: unknown): Value {
  if (input === null || ['string', 'boolean', 'undefined'].includes(typeof input)) return input as Value;
  if (typeof input === 'number') return Number.isInteger(input) ? int(input) : new Float(input);
  if (Array.isArray(input)) return input.map(toValue);
  if (typeof input !== 'object') throw new Error(`a template cannot be given a ${typeof input}`);
  if (input instanceof Callable) return input;
  return new Map(entriesOf(input).map(([key, value]) => [key, toValue(value)]));
}

/** The fields of an object or a Map in the order in which they were written, which a template may print. */
function entriesOf(input: object): [key: string, value: unknown][] {
  if (input instanceof Map) {
    const other = [...input.keys()].find((key) => typeof key !== 'string');
    if (other === undefined) return [...input];
    throw new Error(`the keys of a dict must be text, found ${typeof other}`);
  }
  const prototype: unknown = Object.getPrototypeOf(input);
  // An object of another realm has another Object.prototype.
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) {
    throw new Error(`a template cannot be given a ${input.constructor.name}; give it a plain object`);
  }
  const entries = Object.entries(input).filter(([, value]) => value !== undefined);
  const moved = entries.length > 1 ? entries.find(([key]) => isArrayIndex(key)) : undefined;
  if (moved === undefined) return entries;
  throw new Error(
    `the key ${moved[0]}: JavaScript puts such keys first in an object, so their place is lost; give a Map`,
  );
}

function isArrayIndex(key: string): boolean {
  return /^(0|[1-9]\d{0,9})$/.test(key) && Number(key) < 2 ** 32 - 1;
}

/** @throws Error beyond 2⁵³, where Python's ints go on and JavaScript's numbers lose digits. */
export function int(value: number): number {
  if (Number.isSafeInteger(value)) return value;
  throw new Error(`the whole number ${value} is too large: beyond 2^53 it would lose digits`);
}

/** The kind of a value in Python's words, for messages. */
export function kindOf(value: Value): string {
  if (value === undefined) return 'undefined';
  if (value === null) return 'None';
  if (typeof value === 'string') return 'text';
  if (value instanceof Markup) return 'safe text';
  if (typeof value === 'number') return 'int';
  if (typeof value === 'boolean') return 'bool';
  if (Array.isArray(value)) return 'list';
  if (value instanceof Map) return 'dict';
  if (value instanceof Lazy) return 'generator';
  if (value instanceof Callable) return `function ${value.name}`;
  return value.constructor.name.toLowerCase();
}

export function isTrue(value: Value): boolean {
  if (typeof value === 'object' && value !== null) {
    if (Array.isArray(value)) return value.length > 0;
    if (value instanceof Map) return value.size > 0;
    if (value instanceof Float) return value.value !== 0;
    if (value instanceof Tuple || value instanceof View) return value.items.length > 0;
    if (value instanceof Markup) return value.text !== '';
    return true;
  }
  return Boolean(value);
}

/** The number behind an int, a float or a bool; undefined for anything else. */
export function numberOf(value: Value): number | undefined {
  if (typeof value === 'number') return value;
  if (typeof value === 'boolean') return Number(value);
  return value instanceof Float ? value.value : undefined;
}

/** Elements of a value that Python can iterate over. A generator is empty afterwards. */
export function iterate(value: Value): readonly Value[] {
  if (Array.isArray(value)) return value;
  if (value instanceof Tuple || value instanceof View) return value.items;
  if (value instanceof Map) return [...value.keys()];
  if (value instanceof Lazy) return value.rest.splice(0);
  if (typeof value === 'string') return Array.from(value);
  if (value === undefined) return [];
  throw new Error(`${kindOf(value)} cannot be iterated over`);
}

/** How many elements, in a text how many code points. */
export function lengthOf(value: Value): number {
  if (value instanceof Lazy || value instanceof Loop) throw new Error(`a ${kindOf(value)} has no length`);
  return iterate(value).length;
}
