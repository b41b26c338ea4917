import { isRecord } from './describe.js';
import { deviceName } from './device.js';
import { dtypeCode } from './dtype.js';
import { Generator, generatorHandle } from './generator.js';
import type { OperatorArgument } from './native.js';
import { handleOf, Tensor } from './tensor.js';

/** Where each argument of a schema stands, by name. */
export type Places = ReadonlyMap<string, number>;

export const placesOf = (schema: readonly { name: string }[]): Places =>
  new Map(schema.map(({ name }, i) => [name, i]));

/** The arguments of a call in the order of the schema; keywords come in a plain object at the end. */
export function inOrder(args: readonly unknown[], places: Places): unknown[] {
  const keywords = args.at(-1);
  if (!isRecord(keywords)) return [...args];
  const values = args.slice(0, -1);
  const positional = values.length;
  for (const [key, value] of Object.entries(keywords)) {
    const place = places.get(key);
    if (place === undefined) throw new TypeError(`unknown keyword '${key}'`);
    if (place < positional) throw new TypeError(`keyword '${key}' is given by position already`);
    while (values.length < place) values.push(undefined);
    values[place] = value;
  }
  return values;
}

/** Arguments in order as an object. */
export const byName = (places: Places, values: readonly unknown[]): Record<string, unknown> =>
  Object.fromEntries([...places].map(([name, place]) => [name, values[place]]));

type Reader = (value: unknown) => unknown;

/** Readers of arguments that libtorch takes as a number or does not check, by their type in the schema. */
const readers: Record<string, Reader> = {
  ScalarType: dtypeCode,
  Device: deviceName,
  Layout: stridedOnly,
  MemoryFormat: stridedOnly,
};

function stridedOnly(): never {
  throw new TypeError('tensors are strided and row-major: layout and memory_format cannot be given');
}

/** How an argument of a type with a table of names is read; undefined for all others. */
export const readerOf = ({ type }: OperatorArgument): Reader | undefined => readers[type.replace('?', '')];

/** An argument as the addon takes it. */
export function toNative(value: unknown, read?: Reader): unknown {
  if (value instanceof Tensor) return handleOf(value);
  if (Array.isArray(value)) return listToNative(value);
  if (value instanceof Generator) return generatorHandle(value);
  return read && value !== undefined && value !== null ? read(value) : value;
}

function listToNative(list: readonly unknown[]): unknown[] {
  const raw: unknown[] = [];
  for (let i = 0; i < list.length; i++) {
    const element = list[i];
    // No `map`: it would go through an array of four billion holes.
    if (element === undefined) throw new TypeError(`element ${i} of a list of ${list.length} is missing`);
    raw.push(element instanceof Tensor ? handleOf(element) : element);
  }
  return raw;
}
