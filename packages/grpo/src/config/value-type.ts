/** The part of JSON Schema that zod writes for our schema. */
export interface ValueSchema {
  type?: string;
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
}

/** What values a key takes, in words: `a whole number >= 2`. */
export function describeType(schema: ValueSchema): string {
  if (schema.enum) return schema.enum.join(' | ');
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
      return `a list of ${schema.items?.type === 'object' ? `{${Object.keys(schema.items.properties ?? {}).join(', ')}}` : 'text'}`;
    default:
      return 'a section with keys';
  }
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

/** A value as it is shown in a message: `'1'`, `[1,2]`, `nothing`. */
export function describeFound(value: unknown): string {
  if (value === null || value === undefined) return 'nothing';
  if (typeof value === 'string') return `'${value}'`;
  if (typeof value === 'number') return String(value);
  return JSON.stringify(value);
}
