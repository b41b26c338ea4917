import { method } from './methods.js';
import { kindOf, Loop, Markup, Namespace, Tuple, type Value, View } from './values.js';

const MARKUP = 'the result of the filter safe can only be printed';

/** `object.name`: a method or attribute of Python's type first, a key of a dict otherwise. */
export function readAttribute(object: Value, name: string): Value {
  if (object === undefined) throw new Error(`${name} is read from a value that is undefined`);
  const found = ownAttribute(object, name);
  return found === undefined && object instanceof Map ? object.get(name) : found;
}

/** `object[index]`: an element first, an attribute otherwise; undefined where Python finds neither. */
export function readElement(object: Value, index: Value): Value {
  if (object === undefined) throw new Error('an element is read from a value that is undefined');
  if (object instanceof Markup) throw new Error(MARKUP);
  if (typeof index === 'string') {
    return object instanceof Map && object.has(index) ? object.get(index) : ownAttribute(object, index);
  }
  const at = typeof index === 'boolean' ? Number(index) : index;
  return typeof at === 'number' ? indexed(object)?.at(at) : undefined;
}

/** `object[start:stop:step]` of a text, a list or a tuple. */
export function slice(object: Value, start: Value, stop: Value, step: Value): Value {
  const items = object instanceof View ? undefined : indexed(object);
  if (items === undefined) throw new Error(`a slice of ${kindOf(object)} is not supported`);
  const by = bound(step) ?? 1;
  if (by === 0) throw new Error('the step of a slice must not be 0');
  const [least, most] = by > 0 ? [0, items.length] : [-1, items.length - 1];
  const place = (value: Value, otherwise: number) => {
    const at = bound(value);
    return at === undefined ? otherwise : Math.min(most, Math.max(least, at < 0 ? at + items.length : at));
  };
  const [from, to] = [place(start, by > 0 ? least : most), place(stop, by > 0 ? most : least)];
  const taken: Value[] = [];
  for (let i = from; by > 0 ? i < to : i > to; i += by) taken.push(items[i]);
  if (typeof object === 'string') return taken.join('');
  return object instanceof Tuple ? new Tuple(taken) : taken;
}

function bound(value: Value): number | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'number') return value;
  throw new Error(`a bound of a slice must be an int, found ${kindOf(value)}`);
}

/** Items of a value that takes an int as index. */
function indexed(object: Value): readonly Value[] | undefined {
  if (typeof object === 'string') return Array.from(object);
  if (Array.isArray(object)) return object;
  if (object instanceof Tuple || (object instanceof View && object.indexable)) return object.items;
  return undefined;
}

function ownAttribute(object: Value, name: string): Value {
  if (object instanceof Loop) return loopAttribute(object, name);
  if (object instanceof Namespace) return object.attributes.get(name);
  if (object instanceof Markup) throw new Error(MARKUP);
  return method(object, name);
}

function loopAttribute({ items, index0 }: Loop, name: string): Value {
  const count = items.length;
  switch (name) {
    case 'index':
      return index0 + 1;
    case 'index0':
      return index0;
    case 'revindex':
      return count - index0;
    case 'revindex0':
      return count - index0 - 1;
    case 'first':
      return index0 === 0;
    case 'last':
      return index0 === count - 1;
    case 'length':
      return count;
    case 'previtem':
      return items[index0 - 1];
    case 'nextitem':
      return items[index0 + 1];
    default:
      throw new Error(`loop.${name} is not supported`);
  }
}
