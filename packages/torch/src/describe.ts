/** A value as the text of an error shows it: tensors by dtype and shape, long and deep things cut short. Never throws. */
export function describe(value: unknown): string {
  try {
    return shown(value, 0);
  } catch {
    // Its own code is asked for its text, and may throw.
    return 'an object that cannot be shown';
  }
}

function shown(value: unknown, depth: number): string {
  if (typeof value === 'string') return `'${value.length > 100 ? `${value.slice(0, 99)}…` : value}'`;
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value === 'function') return 'a function';
  if (typeof value !== 'object' || value === null) return String(value);
  if (Array.isArray(value)) {
    if (depth > 2) return '[…]';
    const elements = value.slice(0, 8).map((element) => shown(element, depth + 1));
    return `[${elements.join(', ')}${value.length > 8 ? ', …' : ''}]`;
  }
  if (isRecord(value)) {
    if (depth > 2) return '{…}';
    const fields = Object.entries(value).map(([key, field]) => `${key}: ${shown(field, depth + 1)}`);
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
