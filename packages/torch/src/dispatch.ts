import { dtypeCode } from './dtype.js';
import { Generator, generatorHandle } from './generator.js';
import { native, type ResolvedOperator } from './native.js';
import { handleOf, Tensor } from './tensor.js';

/** A call that libtorch or the argument check refused. `cause` holds libtorch's own text. */
export class OperatorError extends Error {
  override name = 'OperatorError';
}

type Call = (...args: never[]) => unknown;

const composites = new Map<string, Call>();
const expected: { name: string; schema: string; found: ResolvedOperator | null }[] = [];

/** @internal Stand-ins for operators that older libtorch versions lack. */
export function provideComposite(name: string, call: Call): void {
  composites.set(name, call);
}

/** @internal The function for one operator of the typed table; `schema` is the one its types were generated from. */
export function bind(name: string, schema: string): Call {
  const found = resolve(name);
  expected.push({ name, schema, found });
  if (found) return caller(found);
  return (...args) => {
    const composite = composites.get(name);
    if (!composite) throw new OperatorError(`${name} is not in libtorch ${native.version()}`);
    return composite(...args);
  };
}

/** @internal Throws, naming them all, when operators of the typed table are missing or take other arguments. */
export function assertOperators(): void {
  const problems = expected.flatMap(({ name, schema, found }) => {
    if (!found) return composites.has(name) ? [] : [`${name} is missing`];
    const names = argumentNames(schema);
    const actual = new Set(found.arguments.map((a) => a.name));
    const gone = names.filter((n) => !actual.has(n));
    const required = found.arguments.filter(
      (a) => !a.optional && !a.type.endsWith('?') && !names.includes(a.name),
    );
    return [
      ...gone.map((n) => `${name} has no argument '${n}'`),
      ...required.map((a) => `${name} needs an argument '${a.name}' that is not known here`),
    ];
  });
  if (problems.length > 0) {
    throw new Error(
      `libtorch ${native.version()} does not fit: ${problems.join('; ')}. Tested versions: 1.13 and 2.13`,
    );
  }
}

/** Names of the arguments in the text of a schema. */
function argumentNames(schema: string): string[] {
  const inside = schema.slice(schema.indexOf('(') + 1, schema.lastIndexOf(') ->'));
  return inside
    .replaceAll(/\([a-z]!?(?: -> \*)?\)/g, '') // alias annotations such as (a!)
    .split(',')
    .map((part) => part.trim().split(/[ =]/)[1] ?? '')
    .filter((name) => /^\w+$/.test(name));
}

function resolve(name: string): ResolvedOperator | null {
  const dot = name.indexOf('.', name.indexOf('::'));
  return dot < 0 ? native.resolve(name, '') : native.resolve(name.slice(0, dot), name.slice(dot + 1));
}

/** The call by schema: trailing keywords to their places, tensors to handles, results to tensors. */
function caller(op: ResolvedOperator): Call {
  const places = new Map(op.arguments.map((a, i) => [a.name, i]));
  const isDType = op.arguments.map((a) => a.type.startsWith('ScalarType'));
  return (...args: unknown[]) => {
    const raw: unknown[] = [];
    const positional = isKeywords(args.at(-1)) ? args.length - 1 : args.length;
    try {
      for (let i = 0; i < positional; i++) raw.push(toNative(args[i], isDType[i]));
      if (positional < args.length) {
        for (const [key, value] of Object.entries(args[positional] as object)) {
          const place = places.get(key);
          if (place === undefined) throw new TypeError(`unknown keyword '${key}'`);
          if (place < positional) throw new TypeError(`keyword '${key}' is given by position already`);
          raw[place] = toNative(value, isDType[place]);
        }
      }
      const result = native.call(op.id, ...raw);
      // An in-place operator gives back the tensor it was called on: nobody is left with a second handle to free.
      return op.inPlace ? args[0] : fromNative(result);
    } catch (error) {
      throw refused(op, args, error as Error);
    }
  };
}

function isKeywords(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

function toNative(value: unknown, isDType: boolean | undefined): unknown {
  if (value instanceof Tensor) return handleOf(value);
  if (Array.isArray(value))
    return value.map((element) => (element instanceof Tensor ? handleOf(element) : element));
  if (value instanceof Generator) return generatorHandle(value);
  if (isDType && typeof value === 'string') return dtypeCode(value);
  return value;
}

function fromNative(result: unknown): unknown {
  if (typeof result !== 'object' || result === null) return result;
  // biome-ignore lint/suspicious/noExplicitAny: handles are externals, which no type guard can tell apart.
  return Array.isArray(result) ? result.map(fromNative) : new Tensor(result as any);
}

function refused(op: ResolvedOperator, args: unknown[], cause: Error): OperatorError {
  const reason = cause.message.split('\n')[0];
  return new OperatorError(
    `${op.schema.split('(')[0]}: ${reason}; called with (${args.map(describe).join(', ')}); schema ${op.schema}`,
    {
      cause,
    },
  );
}

function describe(value: unknown): string {
  if (value instanceof Tensor) return value.toString();
  if (Array.isArray(value))
    return `[${value.slice(0, 8).map(describe).join(', ')}${value.length > 8 ? ', …' : ''}]`;
  if (isKeywords(value))
    return `{ ${Object.entries(value)
      .map(([k, v]) => `${k}: ${describe(v)}`)
      .join(', ')} }`;
  return typeof value === 'string'
    ? `'${value}'`
    : typeof value === 'function'
      ? 'a function'
      : String(value);
}

const unsafeCalls = new Map<string, Call>();

/** Operators outside the typed table, by full name: nothing but the schema checks what is passed. */
export const unsafe = {
  /** @example unsafe.call('aten::roll', x, [1], [0]) */
  call(name: string, ...args: unknown[]): unknown {
    let call = unsafeCalls.get(name);
    if (!call) {
      const op = resolve(name);
      if (!op)
        throw new OperatorError(
          `libtorch ${native.version()} has no operator ${name}; overloads are part of the name, as in aten::add.Tensor`,
        );
      call = caller(op);
      unsafeCalls.set(name, call);
    }
    return call(...(args as never[]));
  },
};
