import { BYTES } from '../errors/byte-count.js';
import { printable } from '../errors/printable.js';

/** The part of JSON Schema that zod writes for our schema. */
export interface ValueSchema {
  type?: string;
  /** One value. */
  const?: string;
  /** Any of several kinds of values. */
  anyOf?: readonly ValueSchema[];
  /** Regular expression that a text must match. */
  pattern?: string;
  enum?: readonly (string | number)[];
  minimum?: number;
  exclusiveMinimum?: number;
  maximum?: number;
  exclusiveMaximum?: number;
  minLength?: number;
  items?: ValueSchema;
  properties?: Record<string, ValueSchema>;
  default?: unknown;
  description?: string;
  /** Unit of a number; a plain number has none. */
  unit?: string;
  /** The choice beside which the setting has an effect. */
  appliesTo?: AppliesTo;
}

/** A setting has an effect only where another key has one of some values. */
export interface AppliesTo {
  key: string;
  values: readonly string[];
  /** Why it has none elsewhere: `policy=sapo does not clip`. */
  else: string;
}

/** The values that a key takes, in words: `a whole number >= 2`. */
export function describeType(schema: ValueSchema): string {
  if (schema.enum) return schema.enum.join(' | ');
  if (schema.const !== undefined) return schema.const;
  if (schema.anyOf) return schema.anyOf.map(describeOne).join(' | ');
  if (schema.pattern === BYTES.source) return 'bytes such as 12GB';
  switch (schema.type) {
    case 'integer':
      return `a whole number${bounds(schema)}`;
    case 'number':
      return `a number${bounds(schema)}`;
    case 'boolean':
      return 'true | false';
    case 'string':
      return schema.minLength === undefined ? 'text' : 'text that is not empty';
    case 'array':
      return `a list of ${describeItems(schema.items ?? {})}`;
    default:
      return 'a section with keys';
  }
}

/** One of several kinds of values. */
const describeOne = (schema: ValueSchema): string =>
  schema.type === 'object' ? `{${Object.keys(schema.properties ?? {}).join(', ')}}` : describeType(schema);

function describeItems(items: ValueSchema): string {
  if (items.type === 'object' || items.anyOf) return describeOne(items);
  return items.type === 'integer' ? `whole numbers${bounds(items)}` : 'text';
}

function bounds({ minimum, exclusiveMinimum, maximum, exclusiveMaximum }: ValueSchema): string {
  const low =
    minimum !== undefined ? `>= ${minimum}` : exclusiveMinimum !== undefined && `> ${exclusiveMinimum}`;
  const highest = maximum === Number.MAX_SAFE_INTEGER ? undefined : maximum;
  const high =
    highest !== undefined ? `<= ${highest}` : exclusiveMaximum !== undefined && `< ${exclusiveMaximum}`;
  const both = [low, high].filter((bound) => typeof bound === 'string');
  return both.length === 0 ? '' : ` ${both.join(' and ')}`;
}

/** Characters of a value in a message. */
const MAX_SHOWN = 120;

/** An address, all of which but the server may be a key. */
const ADDRESS = /(https?:\/\/)(?:[^\s/"'@]*@)?([^\s/"'?#]+)([/?#][^\s"']*)?/g;

/** A value as it is shown in a message: `'1'`, `[1,2]`, `nothing`; of an address the server alone. */
export function describeFound(value: unknown): string {
  if (value === null || value === undefined) return 'nothing';
  if (typeof value === 'number') return String(value);
  const text = typeof value === 'string' ? `'${value}'` : JSON.stringify(value);
  const withoutKeys = text.replace(ADDRESS, (_, scheme, host, rest) => `${scheme}${host}${rest ? '/…' : ''}`);
  return printable(withoutKeys, MAX_SHOWN);
}
