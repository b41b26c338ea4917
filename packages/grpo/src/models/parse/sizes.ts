import type { ConfigFields } from '../config-fields.js';

/** Ten times those of the deepest models; without a limit, a wrong number here would fill the memory. */
export const MAX_LAYERS = 2000;

/** The quotient of two sizes that must divide. */
export function divided(fields: ConfigFields, whole: string, parts: string): number {
  const [size, count] = [fields.size(whole), fields.size(parts)];
  if (size % count !== 0) fields.fail(`${whole} ${size} is not divisible by ${parts} ${count}`);
  return size / count;
}

/** The number of key and value heads, from the keys of all heads and of these. */
export function kvHeads(fields: ConfigFields, all: string, shared: string): number {
  const heads = fields.size(all);
  const count = fields.size(shared, heads);
  if (heads % count !== 0) fields.fail(`${all} ${heads} is not divisible by ${shared} ${count}`);
  return count;
}

export function evenHead(fields: ConfigFields, size: number): number {
  if (size % 2 !== 0)
    fields.fail(`a head of ${size} dimensions cannot be rotated in pairs; head_dim must be even`);
  return size;
}
