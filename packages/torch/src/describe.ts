/** A value as the text of an error shows it: tensors by dtype and shape, long and deep things cut short. */
export function describe(value: unknown, depth = 0): string {
  if (typeof value === 'string') return `'${value}'`;
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value === 'function') return 'a function';
  if (typeof value !== 'object' || value === null) return String(value);
  if (Array.isArray(value)) {
    if (depth > 2) return '[…]';
    const shown = value.slice(0, 8).map((element) => describe(element, depth + 1));
    return `[${shown.join(', ')}${value.length > 8 ? ', …' : ''}]`;
  }
  if (isRecord(value)) {
    if (depth > 2) return '{…}';
    const fields = Object.entries(value).map(([key, field]) => `${key}: ${describe(field, depth + 1)}`);
    return `{ ${fields.join(', ')} }`;
  }
  const maker = value.constructor as (new () => object) | undefined;
  return maker && Object.hasOwn(maker.prototype, 'toString') ? String(value) : `a ${maker?.name || 'object'}`;
}

/** Whether a value is a plain object, as keyword arguments are. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
