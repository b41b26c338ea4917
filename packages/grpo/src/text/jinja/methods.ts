import { CallArguments } from './call-arguments.js';
import * as functions from './text-functions.js';
import { Callable, type Dict, iterate, kindOf, Tuple, type Value, View } from './values.js';

type Method<T> = readonly [parameters: readonly string[], call: (self: T, given: CallArguments) => Value];

const stripping = (left: boolean, right: boolean): Method<string> => [
  ['chars'],
  (self, given) => functions.strip(self, given.textOrNone('chars'), left, right),
];
const testing = (test: (self: string, part: string) => boolean): Method<string> => [
  ['prefix'],
  (self, given) => {
    const parts = given.value('prefix');
    if (!(parts instanceof Tuple)) return test(self, given.text('prefix'));
    return parts.items.some((part) => {
      if (typeof part === 'string') return test(self, part);
      throw new Error(`${given.owner}: a tuple must hold text, found ${kindOf(part)}`);
    });
  },
];

const TEXT: Record<string, Method<string>> = {
  strip: stripping(true, true),
  lstrip: stripping(true, false),
  rstrip: stripping(false, true),
  startswith: testing((self, part) => self.startsWith(part)),
  endswith: testing((self, part) => self.endsWith(part)),
  split: [
    ['sep', 'maxsplit'],
    (self, given) => functions.split(self, given.textOrNone('sep'), given.int('maxsplit', -1)),
  ],
  rsplit: [
    ['sep', 'maxsplit'],
    (self, given) => functions.splitRight(self, given.text('sep'), given.int('maxsplit', -1)),
  ],
  splitlines: [[], (self) => functions.splitLines(self)],
  replace: [
    ['old', 'new', 'count'],
    (self, given) => functions.replace(self, given.text('old'), given.text('new'), given.int('count', -1)),
  ],
  removeprefix: [['prefix'], (self, given) => removed(self, given.text('prefix'), true)],
  removesuffix: [['suffix'], (self, given) => removed(self, given.text('suffix'), false)],
  upper: [[], (self) => self.toUpperCase()],
  lower: [[], (self) => self.toLowerCase()],
  capitalize: [[], (self) => functions.capitalize(self)],
  isupper: [[], (self) => functions.hasOnlyCase(self, false)],
  islower: [[], (self) => functions.hasOnlyCase(self, true)],
  isspace: [[], (self) => self !== '' && functions.strip(self, undefined) === ''],
  find: [['sub'], (self, given) => points(self, self.indexOf(given.text('sub')))],
  rfind: [['sub'], (self, given) => points(self, self.lastIndexOf(given.text('sub')))],
  count: [
    ['sub'],
    (self, given) => {
      const sub = given.text('sub');
      return sub === '' ? Array.from(self).length + 1 : self.split(sub).length - 1;
    },
  ],
  join: [
    ['iterable'],
    (self, given) =>
      iterate(given.value('iterable'))
        .map((item) => {
          if (typeof item === 'string') return item;
          throw new Error(`join: the items must be text, found ${kindOf(item)}`);
        })
        .join(self),
  ],
};

const DICT: Record<string, Method<Dict>> = {
  items: [
    [],
    (self) =>
      new View(
        [...self].map((entry) => new Tuple(entry)),
        false,
      ),
  ],
  keys: [[], (self) => new View([...self.keys()], false)],
  values: [[], (self) => new View([...self.values()], false)],
  get: [
    ['key', 'default'],
    (self, given) => {
      const key = given.value('key');
      if (typeof key === 'string' && self.has(key)) return self.get(key);
      if (typeof key === 'object' && key !== null)
        throw new Error(`get: ${kindOf(key)} as the key of a dict`);
      return given.value('default', null);
    },
  ],
};

/** Further attributes of Python's types: such a name is refused, where an unknown one is undefined. */
const OTHERS: Record<string, string> = {
  text: 'casefold center encode expandtabs format format_map index isalnum isalpha isascii isdecimal isdigit isidentifier isnumeric isprintable istitle ljust maketrans partition rindex rjust rpartition swapcase title translate zfill',
  dict: 'clear copy fromkeys pop popitem setdefault update',
  list: 'append clear copy count extend index insert pop remove reverse sort',
  tuple: 'count index',
  int: 'as_integer_ratio bit_count bit_length conjugate denominator from_bytes imag is_integer numerator real to_bytes',
  float: 'as_integer_ratio conjugate fromhex hex imag is_integer real',
  view: 'count index isdisjoint mapping start step stop',
  generator: 'close gi_code gi_frame gi_running gi_suspended gi_yieldfrom send throw',
  function: 'arguments caller catch_kwargs catch_varargs explicit_caller name',
};
OTHERS.bool = OTHERS.int!;

/**
 * A method of a value, bound to it; undefined when Python has none of this name.
 * @throws Error for one that Python has and we do not.
 */
export function method(value: Value, name: string): Callable | undefined {
  const found =
    typeof value === 'string'
      ? bind(value, TEXT, name)
      : value instanceof Map
        ? bind(value, DICT, name)
        : undefined;
  if (found) return found;
  const kind = kindOf(value).split(' ')[0]!;
  if (name.startsWith('__') || OTHERS[kind]?.split(' ').includes(name)) {
    throw new Error(`${name} of a ${kind} is not supported`);
  }
  return undefined;
}

function bind<T>(self: T, table: Record<string, Method<T>>, name: string): Callable | undefined {
  if (!Object.hasOwn(table, name)) return undefined;
  const [parameters, call] = table[name]!;
  return new Callable(name, (args, keywords) =>
    call(self, new CallArguments(name, parameters, args, keywords)),
  );
}

function removed(self: string, part: string, front: boolean): string {
  if (part === '' || !(front ? self.startsWith(part) : self.endsWith(part))) return self;
  return front ? self.slice(part.length) : self.slice(0, -part.length);
}

/** An index of UTF-16 units as one of code points. */
function points(self: string, index: number): number {
  return index < 0 ? index : Array.from(self.slice(0, index)).length;
}
