import { byName, inOrder, placesOf, readerOf, toNative } from './arguments.js';
import { describe } from './describe.js';
import { type Guard, guards } from './guards.js';
import { native, onLoad, type ResolvedOperator, type TensorHandle } from './native.js';
import { parseSchema, schemaProblems } from './schema.js';
import { tidy } from './scope.js';
import { SetupError } from './setup/run.js';
import { forgetShape, Tensor } from './tensor.js';

/** A call that libtorch or the argument check refused. `cause` holds libtorch's own text. */
export class OperatorError extends Error {
  override name = 'OperatorError';
  /** `OUT_OF_MEMORY` where that was the reason. */
  declare readonly code?: string;

  constructor(message: string, options: { cause?: Error & { code?: string } } = {}) {
    super(message, options);
    if (options.cause?.code !== undefined) Object.assign(this, { code: options.cause.code });
  }
}

type Call = (...args: never[]) => unknown;

/** A call with its arguments in one array. */
type Run = (args: unknown[]) => unknown;

/** An operator of the typed table; `run` is there once the addon is loaded. */
interface Binding {
  name: string;
  schema: string;
  run: Run | undefined;
}

const composites = new Map<string, Call>();
const bindings: Binding[] = [];

/** @internal Stand-ins for operators that older libtorch versions lack. */
export function provideComposite(name: string, call: Call): void {
  composites.set(name, call);
}

/** @internal The function for one operator of the typed table; `schema` is the one its types were generated from. */
export function bind(name: string, schema: string): Call {
  const binding: Binding = { name, schema, run: undefined };
  bindings.push(binding);
  return (...args) => (binding.run ?? linked(binding))(args);
}

/** @internal The operators of the typed table with the schemas that their types were generated from. */
export const boundOperators = (): readonly { name: string; schema: string }[] => bindings;

function linked(binding: Binding): Run {
  // Any use of the addon loads it, and with it links the table; unless it was loaded before there was one.
  native.version();
  if (!binding.run) linkOperators();
  return binding.run!;
}

onLoad(linkOperators);

/** Finds every operator of the typed table; throws, naming them all, when some are missing or take other arguments. */
function linkOperators(): void {
  const problems = bindings.flatMap((binding) => {
    const { name, schema } = binding;
    const found = resolveOperator(name);
    const composite = composites.get(name);
    if (found) binding.run = caller(found, guards[name]);
    else if (composite) binding.run = compositeCaller(schema, composite, guards[name]);
    else return [`${name} is missing`];
    return found ? schemaProblems(schema, found).map((problem) => `${name} ${problem}`) : [];
  });
  if (problems.length > 0) {
    throw new SetupError(
      `libtorch ${native.version()} does not fit: ${problems.join('; ')}. Tested versions: 1.13 and 2.13`,
    );
  }
}

function compositeCaller(schema: string, composite: Call, guard?: Guard): Run {
  const places = placesOf(parseSchema(schema));
  return (args) => {
    try {
      guard?.(byName(places, inOrder(args, places)));
      return tidy(() => composite(...(args as never[])));
    } catch (error) {
      throw refused(schema, args, error as Error);
    }
  };
}

/** @internal An operator by its full name with the overload, such as `aten::add.Tensor`. */
export function resolveOperator(name: string): ResolvedOperator | null {
  const dot = name.indexOf('.', name.indexOf('::'));
  return dot < 0 ? native.resolve(name, '') : native.resolve(name.slice(0, dot), name.slice(dot + 1));
}

/** The call by schema: trailing keywords to their places, tensors to handles, results to tensors. */
function caller(op: ResolvedOperator, guard?: Guard): Run {
  const places = placesOf(op.arguments);
  const readers = op.arguments.map(readerOf);
  return (args) => {
    try {
      const values = inOrder(args, places);
      guard?.(byName(places, values));
      const result = native.call(op.id, ...values.map((value, i) => toNative(value, readers[i])));
      // An in-place operator gives back the tensor it was called on: nobody is left with a second handle to free.
      if (!op.inPlace) return fromNative(result);
      forgetShape(values[0] as Tensor);
      return values[0];
    } catch (error) {
      throw refused(op.schema, args, error as Error);
    }
  };
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

const unsafeCalls = new Map<string, Run>();

/** Operators outside the typed table, by full name: only the schema checks their arguments. */
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
    return call(args);
  },
};
