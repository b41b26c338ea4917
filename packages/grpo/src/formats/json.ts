import { excerpt, FormatError } from './format-error.js';

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Parses a JSON text that is one object and in which no object names a key twice; `JSON.parse` would silently
 * keep the last one.
 * @param part what the text is, for the message: `'the header'`.
 */
export function parseJsonObject(file: string, part: string, bytes: Uint8Array): Record<string, unknown> {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch (cause) {
    throw new FormatError(file, `${part} is not valid UTF-8`, { cause });
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    const problem = `${part} is not valid JSON: ${jsonProblem(cause)}; it begins ${excerpt(text)}`;
    throw new FormatError(file, problem, { cause });
  }
  if (!isObject(value)) throw new FormatError(file, `${part} must be a JSON object, found ${excerpt(text)}`);
  const twice = findDuplicateKey(text);
  if (twice !== undefined) throw new FormatError(file, `${part} names ${excerpt(twice)} twice`);
  return value;
}

/** Whether a parsed JSON value is an object: not null, not an array. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** What `JSON.parse` complained of. It quotes the text, whose control characters may not reach a terminal. */
export function jsonProblem(error: unknown): string {
  return String(error instanceof Error ? error.message : error).replace(/\p{Cc}/gu, '?');
}

/** A parsed JSON value for an error message. Nested values are only named: printing them recurses. */
export function shown(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (typeof value === 'string') return excerpt(value);
  if (isObject(value)) return 'an object';
  if (!Array.isArray(value)) return String(value);
  if (value.some((item) => typeof item === 'object' && item !== null)) return 'a nested array';
  return value.length > 10 ? `an array of ${value.length} values` : `[${value.map(shown).join(', ')}]`;
}

/** The first key that an object of `text`, at any depth, has twice. `text` must be valid JSON. */
function findDuplicateKey(text: string): string | undefined {
  const open: Set<string>[] = [];
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (char === '{') open.push(new Set());
    else if (char === '}') open.pop();
    else if (char === '"') {
      const end = closingQuote(text, at);
      if (isKey(text, end)) {
        // Unescaped, since "a" and "\u0061" are one key.
        const key: string = JSON.parse(text.slice(at, end + 1));
        const keys = open.at(-1);
        if (keys?.has(key)) return key;
        keys?.add(key);
      }
      at = end;
    }
  }
  return undefined;
}

function closingQuote(text: string, start: number): number {
  let at = start + 1;
  while (text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at;
}

/** In valid JSON a colon follows keys and nothing else. */
function isKey(text: string, end: number): boolean {
  let at = end + 1;
  while (' \t\n\r'.includes(text[at] ?? '!')) at++;
  return text[at] === ':';
}
