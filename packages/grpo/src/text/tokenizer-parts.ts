import { FormatError } from '../errors/format-error.js';
import { describeJson, isObject } from '../formats/json.js';

const PARTS = ['normalizer', 'pre_tokenizer', 'post_processor', 'decoder'];
const FLAGS = new Set(['add_prefix_space', 'trim_offsets', 'use_regex', 'invert', 'individual_digits']);
const BEHAVIORS = ['Removed', 'Isolated', 'MergedWithPrevious', 'MergedWithNext', 'Contiguous'];

/**
 * Checks the fields of the parts around a tokenizer's model, however they are nested: the engine takes any value, and
 * leaves out a pattern that it does not understand.
 * @throws FormatError with the field.
 */
export function checkParts(file: string, definition: Record<string, unknown>): void {
  for (const part of PARTS) checkPart(file, part, definition[part] ?? {});
}

function checkPart(file: string, path: string, part: unknown): void {
  if (!isObject(part))
    throw new FormatError(file, `${path} must be an object with a type, found ${describeJson(part)}`);
  for (const [key, value] of Object.entries(part)) {
    const problem = problemOf(key, value);
    if (problem !== undefined) {
      throw new FormatError(file, `${path}.${key} must be ${problem}, found ${describeJson(value)}`);
    }
    if (!Array.isArray(value) || !/^(normalizers|pretokenizers|processors|decoders)$/.test(key)) continue;
    for (const [i, inner] of value.entries()) checkPart(file, `${path}.${key}.${i}`, inner);
  }
}

/** The form that a field must have, where it has another. */
function problemOf(key: string, value: unknown): string | undefined {
  if (FLAGS.has(key) && typeof value !== 'boolean') return 'true or false';
  if (key === 'behavior' && !BEHAVIORS.includes(String(value))) return BEHAVIORS.join(', ');
  if (key !== 'pattern') return undefined;
  const text = isObject(value) && Object.keys(value).length === 1 ? (value.String ?? value.Regex) : undefined;
  return typeof text === 'string' ? undefined : '{"String": text} or {"Regex": text}';
}
