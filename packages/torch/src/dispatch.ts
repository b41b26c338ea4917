import { describe, isRecord } from './describe.js';
import { dtypeCode } from './dtype.js';
import { Generator, generatorHandle } from './generator.js';
import { guards } from './guards.js';
import { native, type ResolvedOperator, type TensorHandle } from './native.js';
import { schemaProblems } from './schema.js';
import { tidy } from './scope.js';
import { forgetShape, handleOf, Tensor } from './tensor.js';

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
  const found = resolveOperator(name);
  expected.push({ name, schema, found });
  if (found) return caller(found, guards[name]);
  return (...args) => {
    const composite = composites.get(name);
    if (!composite) throw new OperatorError(`${name} is not in libtorch ${native.version()}`);
    try {
      guards[name]?.(args);
      return tidy(() => composite(...args));
    } catch (error) {
      throw refused(schema, args, error as Error);
    }
  };
}

/** @internal Throws, naming them all, when operators of the typed table are missing or take other arguments. */
export function assertOperators(): void {
  const problems = expected.flatMap(({ name, schema, found }) => {
    if (!found) return composites.has(name) ? [] : [`${name} is missing`];
    return schemaProblems(schema, found).map((problem) => `${name} ${problem}`);
  });
  if (problems.length > 0) {
    throw new Error(
      `libtorch ${native.version()} does not fit: ${problems.join('; ')}. Tested versions: 1.13 and 2.13`,
    );
  }
}

/** @internal An operator by its full name with the overload, such as `aten::add.Tensor`. */
export function resolveOperator(name: string): ResolvedOperator | null {
  const dot = name.indexOf('.', name.indexOf('::'));
  return dot < 0 ? native.resolve(name, '') : native.resolve(name.slice(0, dot), name.slice(dot + 1));
}

/** The call by schema: trailing keywords to their places, tensors to handles, results to tensors. */
function caller(op: ResolvedOperator, guard?: (args: readonly unknown[]) => void): Call {
  const places = new Map(op.arguments.map((a, i) => [a.name, i]));
  const isDType = op.arguments.map((a) => a.type.startsWith('ScalarType'));
  return (...args: unknown[]) => {
    const raw: unknown[] = [];
    const positional = isRecord(args.at(-1)) ? args.length - 1 : args.length;
    try {
      guard?.(args);
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
      if (!op.inPlace) return fromNative(result);
      if (args[0] instanceof Tensor) forgetShape(args[0]);
      return args[0];
    } catch (error) {
      throw refused(op.schema, args, error as Error);
    }
  };
}

function toNative(value: unknown, isDType: boolean | undefined): unknown {
  if (value instanceof Tensor) return handleOf(value);
  if (Array.isArray(value))
    return value.map((element) => (element instanceof Tensor ? handleOf(element) : element));
  if (value instanceof Generator) return generatorHandle(value);
  if (isDType && value !== undefined && value !== null) return dtypeCode(value);
  return value;
}

function fromNative(result: unknown): unknown {
  if (typeof result !== 'object' || result === null) return result;
  return Array.isArray(result) ? result.map(fromNative) : new Tensor(result as TensorHandle);
}

function refused(schema: string, args: unknown[], cause: Error): OperatorError {
  const line = cause.message.split('\n')[0]!;
  // Some of libtorch's lines list every backend that there is; the whole text is in the cause.
  const reason = line.length > 300 ? `${line.slice(0, 299)}…` : line;
  const called = args.map((argument) => describe(argument)).join(', ');
  return new OperatorError(
    `${schema.slice(0, schema.indexOf('('))}: ${reason}; called with (${called}); schema ${schema}`,
    { cause },
  );
}

const unsafeCalls = new Map<string, Call>();

/** Operators outside the typed table, by full name: nothing but the schema checks what is passed. */
export const unsafe = {
  /** @example unsafe.call('aten::roll', x, [1], [0]) */
  call(name: string, ...args: unknown[]): unknown {
    let call = unsafeCalls.get(name);
    if (!call) {
      const op = resolveOperator(name);
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
