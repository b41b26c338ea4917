import { readElement } from './attributes.js';
import { CallArguments } from './call-arguments.js';
import { equal, order } from './comparison.js';
import { json, text } from './print.js';
import { test } from './tests.js';
import * as functions from './text-functions.js';
import { toFloat, toInt } from './to-number.js';
import {
  Float,
  isTrue,
  iterate,
  type Keywords,
  kindOf,
  Lazy,
  lengthOf,
  Markup,
  numberOf,
  Tuple,
  type Value,
} from './values.js';

type Filter = readonly [parameters: readonly string[], call: (value: Value, given: CallArguments) => Value];

const textual = (change: (value: string) => string): Filter => [[], (value) => change(text(value))];
const lengthFilter: Filter = [[], (value) => lengthOf(value)];
const defaultFilter: Filter = [
  ['default_value', 'boolean'],
  (value, given) =>
    value === undefined || (given.flag('boolean') && !isTrue(value))
      ? given.value('default_value', '')
      : value,
];

const FILTERS: Record<string, Filter> = {
  trim: [['chars'], (value, given) => functions.strip(text(value), given.textOrNone('chars'))],
  upper: textual((value) => value.toUpperCase()),
  lower: textual((value) => value.toLowerCase()),
  capitalize: textual(functions.capitalize),
  title: textual(functions.titleWords),
  string: [[], (value) => (value instanceof Markup ? value : text(value))],
  safe: [[], (value) => new Markup(text(value))],
  replace: [
    ['old', 'new', 'count'],
    (value, given) => {
      const count = given.value('count') === null ? -1 : given.int('count', -1);
      return functions.replace(text(value), given.text('old'), given.text('new'), count);
    },
  ],
  indent: [['width', 'first', 'blank'], (value, given) => indent(value, given)],
  join: [['d', 'attribute'], (value, given) => each(value, given).map(text).join(given.text('d', ''))],
  length: lengthFilter,
  count: lengthFilter,
  default: defaultFilter,
  d: defaultFilter,
  list: [[], (value) => [...iterate(value)]],
  first: [[], (value) => (value instanceof Lazy ? value.rest.shift() : iterate(value)[0])],
  last: [
    [],
    (value) => {
      if (value instanceof Lazy)
        throw new Error('last: a generator cannot be reversed; make it a list first');
      return iterate(value).at(-1);
    },
  ],
  reverse: [
    [],
    (value) => {
      if (typeof value === 'string') return Array.from(value).reverse().join('');
      return new Lazy([...iterate(value)].reverse());
    },
  ],
  items: [[], (value) => new Lazy(entries(value))],
  dictsort: [['case_sensitive', 'by', 'reverse'], (value, given) => dictsort(value, given)],
  sort: [
    ['reverse', 'case_sensitive', 'attribute'],
    (value, given) => sorted([...iterate(value)], given, (item) => reach(item, given)),
  ],
  unique: [['case_sensitive', 'attribute'], (value, given) => new Lazy(unique(value, given))],
  abs: [
    [],
    (value) => {
      const number = numberOf(value);
      if (number === undefined) throw new Error(`abs of ${kindOf(value)}`);
      return value instanceof Float ? new Float(Math.abs(number)) : Math.abs(number);
    },
  ],
  int: [['default'], (value, given) => toInt(value, given.value('default', 0))],
  float: [['default'], (value, given) => toFloat(value, given.value('default', new Float(0)))],
  tojson: [['ensure_ascii', 'indent', 'separators', 'sort_keys'], (value, given) => tojson(value, given)],
};

/** `value | name(args)`. @throws Error for a filter that is not supported. */
export function filter(name: string, value: Value, args: readonly Value[], keywords: Keywords): Value {
  const found = Object.hasOwn(FILTERS, name) ? FILTERS[name] : undefined;
  if (found) {
    if (value instanceof Markup && name !== 'string')
      throw new Error(`${name} after the filter safe is not supported`);
    return found[1](value, new CallArguments(name, found[0], args, keywords));
  }
  if (name === 'map') return map(value, args, keywords);
  const [, verb, byAttribute] = /^(select|reject)(attr)?$/.exec(name) ?? [];
  if (verb === undefined) throw new Error(`the filter ${name} is not supported`);
  if (keywords.size > 0) throw new Error(`${name} takes no named arguments`);
  return new Lazy(select(value, args, { keep: verb === 'select', byAttribute: byAttribute !== undefined }));
}

function map(value: Value, args: readonly Value[], keywords: Keywords): Value {
  const [name, ...rest] = args;
  if (name === undefined) {
    const given = new CallArguments('map', ['attribute', 'default'], [], keywords);
    return new Lazy(
      iterate(value).map((item) => follow(item, given.value('attribute'), given.value('default', null))),
    );
  }
  if (typeof name !== 'string') throw new Error(`map: a filter is named by text, found ${kindOf(name)}`);
  return new Lazy(iterate(value).map((item) => filter(name, item, rest, keywords)));
}

function select(value: Value, args: readonly Value[], how: { keep: boolean; byAttribute: boolean }): Value[] {
  const path = how.byAttribute ? args[0] : undefined;
  const [name, ...rest] = how.byAttribute ? args.slice(1) : args;
  if (name !== undefined && typeof name !== 'string') throw new Error('select: a test is named by text');
  return iterate(value).filter((item) => {
    const tested = how.byAttribute ? follow(item, path) : item;
    return (name === undefined ? isTrue(tested) : test(name, tested, rest)) === how.keep;
  });
}

/** The items, or of each the attribute that is asked for. */
function each(value: Value, given: CallArguments): Value[] {
  return iterate(value).map((item) => reach(item, given));
}

function reach(item: Value, given: CallArguments): Value {
  const path = given.value('attribute', null);
  return path === null ? item : follow(item, path);
}

/** `a.b.0` of an item. A default stands in for each step that leads nowhere, and the next one goes on from there. */
function follow(item: Value, path: Value, otherwise: Value = null): Value {
  if (typeof path !== 'string' && typeof path !== 'number') {
    throw new Error(`an attribute is named by text, found ${kindOf(path)}`);
  }
  const steps =
    typeof path === 'number'
      ? [path]
      : path.split('.').map((step) => (/^\d+$/.test(step) ? Number(step) : step));
  return steps.reduce<Value>((found, step) => {
    const next = readElement(found, step);
    return next === undefined && otherwise !== null ? otherwise : next;
  }, item);
}

function entries(value: Value): Tuple[] {
  if (value === undefined) return [];
  if (value instanceof Map) return [...value].map((entry) => new Tuple(entry));
  throw new Error(`items of ${kindOf(value)}; only a dict has them`);
}

function dictsort(value: Value, given: CallArguments): Value {
  const by = given.text('by', 'key');
  if (by !== 'key' && by !== 'value') throw new Error(`dictsort: by must be "key" or "value", found ${by}`);
  if (!(value instanceof Map)) throw new Error(`dictsort of ${kindOf(value)}; only a dict can be sorted so`);
  return sorted(entries(value), given, (entry) => (entry as Tuple).items[by === 'key' ? 0 : 1]);
}

function sorted(items: Value[], given: CallArguments, keyOf: (item: Value) => Value): Value[] {
  const sign = given.flag('reverse') ? -1 : 1;
  const keyed = items.map((item) => ({ item, key: folded(keyOf(item), given) }));
  return keyed.sort((a, b) => sign * order(a.key, b.key)).map(({ item }) => item);
}

function unique(value: Value, given: CallArguments): Value[] {
  const seen: Value[] = [];
  return iterate(value).filter((item) => {
    const key = folded(reach(item, given), given);
    if (seen.some((other) => equal(other, key))) return false;
    seen.push(key);
    return true;
  });
}

function folded(key: Value, given: CallArguments): Value {
  return typeof key === 'string' && !given.flag('case_sensitive') ? key.toLowerCase() : key;
}

function indent(value: Value, given: CallArguments): string {
  if (typeof value !== 'string') throw new Error(`indent of ${kindOf(value)}; only text has lines`);
  const width = given.value('width', 4);
  const margin = typeof width === 'string' ? width : ' '.repeat(Math.max(0, given.int('width', 4)));
  const lines = functions.splitLines(`${value}\n`);
  const blank = given.flag('blank');
  const moved = lines.map((line, i) => (i > 0 && (blank || line !== '') ? margin + line : line));
  return (given.flag('first') ? margin : '') + moved.join('\n');
}

function tojson(value: Value, given: CallArguments): string {
  const indent = given.value('indent', null);
  const margin =
    indent === null ? undefined : typeof indent === 'string' ? indent : ' '.repeat(given.int('indent'));
  const separators = given.value('separators', null);
  return json(value, {
    ensureAscii: given.flag('ensure_ascii'),
    indent: margin,
    separators: separators === null ? [margin === undefined ? ', ' : ',', ': '] : pair(separators),
    sortKeys: given.flag('sort_keys'),
  });
}

function pair(value: Value): [string, string] {
  const [first, second, third] = iterate(value);
  if (typeof first === 'string' && typeof second === 'string' && third === undefined) return [first, second];
  throw new Error('tojson: separators must be two texts');
}
