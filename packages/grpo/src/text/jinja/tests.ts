import { binary } from './operators.js';
import { text } from './print.js';
import { hasOnlyCase } from './text-functions.js';
import { Callable, Float, Lazy, Loop, Markup, numberOf, Tuple, type Value, View } from './values.js';

type Test = (value: Value) => boolean;

const isText: Test = (value) => typeof value === 'string' || value instanceof Markup;
const isInt: Test = (value) => typeof value === 'number';
const isIndexed: Test = (value) =>
  Array.isArray(value) ||
  value instanceof Tuple ||
  value instanceof Map ||
  isText(value) ||
  value === undefined;

const TESTS: Record<string, Test> = {
  defined: (value) => value !== undefined,
  undefined: (value) => value === undefined,
  none: (value) => value === null,
  boolean: (value) => typeof value === 'boolean',
  true: (value) => value === true,
  false: (value) => value === false,
  string: isText,
  // A bool is a number in Python, but by Jinja's rule no integer.
  number: (value) => numberOf(value) !== undefined,
  integer: isInt,
  float: (value) => value instanceof Float,
  mapping: (value) => value instanceof Map,
  sequence: (value) => isIndexed(value) || (value instanceof View && value.indexable),
  iterable: (value) =>
    isIndexed(value) || value instanceof View || value instanceof Lazy || value instanceof Loop,
  callable: (value) => value instanceof Callable || value === undefined,
  odd: (value) => binary('%', value, 2) === 1,
  even: (value) => binary('%', value, 2) === 0,
  lower: (value) => hasOnlyCase(text(value), true),
  upper: (value) => hasOnlyCase(text(value), false),
};

/** Tests with an argument: only filters such as `selectattr` can give them one. */
const COMPARISONS: Record<string, string> = {
  ...{ eq: '==', equalto: '==', '==': '==', ne: '!=', '!=': '!=', in: 'in' },
  ...{ lt: '<', lessthan: '<', '<': '<', gt: '>', greaterthan: '>', '>': '>' },
  ...{ le: '<=', '<=': '<=', ge: '>=', '>=': '>=' },
};

/** `value is name`. @throws Error for a test that is not supported. */
export function test(name: string, value: Value, args: readonly Value[] = []): boolean {
  if (Object.hasOwn(TESTS, name) && args.length === 0) return TESTS[name]!(value);
  if (Object.hasOwn(COMPARISONS, name) && args.length === 1) {
    return binary(COMPARISONS[name]!, value, args[0]) as boolean;
  }
  throw new Error(`the test ${name} with ${args.length} arguments is not supported`);
}
