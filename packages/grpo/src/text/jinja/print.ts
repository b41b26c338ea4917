import { orderText } from './comparison.js';
import { Float, kindOf, Markup, Tuple, type Value } from './values.js';

/** Python's `str`: how a value is printed. */
export function text(value: Value): string {
  if (typeof value === 'string') return value;
  if (value === undefined) return '';
  return value instanceof Markup ? value.text : repr(value);
}

function repr(value: Value): string {
  if (typeof value === 'string') return quote(value);
  if (typeof value === 'number') return String(value);
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (value === null) return 'None';
  if (value === undefined) return 'Undefined';
  if (value instanceof Float) return floatText(value.value);
  if (Array.isArray(value)) return `[${value.map(repr).join(', ')}]`;
  if (value instanceof Tuple)
    return `(${value.items.map(repr).join(', ')}${value.items.length === 1 ? ',' : ''})`;
  if (value instanceof Map) {
    return `{${[...value].map(([key, each]) => `${quote(key)}: ${repr(each)}`).join(', ')}}`;
  }
  throw new Error(`printing a ${kindOf(value)} is not supported; print text, or use tojson`);
}

/** Everything that Python's `str.isprintable` is not. */
const UNPRINTABLE = /[\\\p{C}\p{Z}]/gu;
const SHORT: Record<string, string> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t', ' ': ' ' };

function quote(value: string): string {
  const mark = value.includes("'") && !value.includes('"') ? '"' : "'";
  const escaped = value.replace(UNPRINTABLE, (char) => SHORT[char] ?? escapeCode(char.codePointAt(0)!));
  return mark + (mark === "'" ? escaped.replaceAll("'", "\\'") : escaped) + mark;
}

function escapeCode(code: number): string {
  const [letter, width] = code < 0x100 ? ['x', 2] : code < 0x10000 ? ['u', 4] : ['U', 8];
  return `\\${letter}${code.toString(16).padStart(width as number, '0')}`;
}

/** Both languages write the fewest digits that tell a float apart; they differ in when an exponent is used. */
function floatText(value: number, names = { infinity: 'inf', nan: 'nan' }): string {
  if (Number.isNaN(value)) return names.nan;
  if (!Number.isFinite(value)) return `${value < 0 ? '-' : ''}${names.infinity}`;
  if (Object.is(value, -0)) return '-0.0';
  const [digits = '', exponent = ''] = value.toExponential().split('e');
  const power = Number(exponent);
  if (value !== 0 && (power < -4 || power >= 16)) {
    return `${digits}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`;
  }
  const plain = String(value);
  return plain.includes('.') ? plain : `${plain}.0`;
}

export interface JsonOptions {
  ensureAscii: boolean;
  indent: string | undefined;
  separators: readonly [item: string, key: string];
  sortKeys: boolean;
}

/** Python's `json.dumps`. */
export function json(value: Value, options: JsonOptions, margin = '\n'): string {
  if (typeof value === 'string' || value instanceof Markup) return jsonText(text(value), options.ensureAscii);
  if (value === null) return 'null';
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (value instanceof Float) return floatText(value.value, { infinity: 'Infinity', nan: 'NaN' });
  const inner = options.indent === undefined ? '' : margin + options.indent;
  const wrap = (open: string, parts: string[], close: string) => {
    if (parts.length === 0) return open + close;
    const end = options.indent === undefined ? '' : margin;
    return open + inner + parts.join(options.separators[0] + inner) + end + close;
  };
  const nested = (each: Value) => json(each, options, inner);
  if (Array.isArray(value)) return wrap('[', value.map(nested), ']');
  if (value instanceof Tuple) return wrap('[', value.items.map(nested), ']');
  if (value instanceof Map) {
    const entries = [...value];
    if (options.sortKeys) entries.sort(([a], [b]) => orderText(a, b));
    const parts = entries.map(
      ([key, each]) => jsonText(key, options.ensureAscii) + options.separators[1] + nested(each),
    );
    return wrap('{', parts, '}');
  }
  throw new Error(`tojson cannot write a value that is ${kindOf(value)}`);
}

function jsonText(value: string, ensureAscii: boolean): string {
  // JavaScript escapes lone surrogates, Python writes them.
  const written = JSON.stringify(value).replace(
    /(?<!\\)((?:\\\\)*)\\u(d[89a-f]..)/g,
    (_, before: string, code: string) => {
      return before + String.fromCharCode(Number.parseInt(code, 16));
    },
  );
  if (!ensureAscii) return written;
  return written.replace(
    /[\x7f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
