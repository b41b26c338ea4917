/**
 * Cuts a template into text and tags and does the white space around tags, with the settings of transformers:
 * `trim_blocks`, `lstrip_blocks`, no line end at the end. The library does this by replacing in the source, which
 * also changes text that only looks like a tag, and takes JavaScript's white space.
 */
import { SPACE, strip } from './text-functions.js';

/** A stretch of text, or the source of one tag without white space marks. */
export interface Piece {
  kind: 'text' | 'tag';
  source: string;
  /** Where it begins, from 1. */
  line: number;
}

/** The block `generation` of transformers is a call block of this function: it has a scope of its own. */
export const GENERATION = '__generation__';

const OPEN = /\{[{%#]/g;
const RAW = new RegExp(`^\\{%[-+]?[${SPACE}]*raw[${SPACE}]*-?%\\}`, 'u');

/** @throws Error with the line for a tag without an end. */
export function cutSource(template: string): Piece[] {
  const source = template.replace(/\r\n?/g, '\n').replace(/\n$/, '');
  const pieces: Piece[] = [];
  let at = 0;
  let line = 1;
  /** White space that the last tag removes from the text after it. */
  let after: 'all' | 'newline' | 'none' = 'none';
  while (at < source.length) {
    OPEN.lastIndex = at;
    const start = OPEN.exec(source)?.index ?? source.length;
    const tag = source.slice(start, start < source.length ? endOf(source, start, lineAt(start)) : start);
    if (RAW.test(tag)) throw new Error(`line ${lineAt(start)}: raw blocks are not supported`);
    let text = source.slice(at, start);
    if (after === 'all') text = strip(text, undefined, true, false);
    if (after === 'newline' && text.startsWith('\n')) text = text.slice(1);
    if (tag[2] === '-') text = strip(text, undefined, false, true);
    else if (tag !== '' && tag[2] !== '+' && tag[1] !== '{') text = withoutIndent(text, source, start);
    if (text !== '') pieces.push({ kind: 'text', source: text, line });
    line = lineAt(start);
    if (tag !== '' && tag[1] !== '#') pieces.push({ kind: 'tag', source: plain(tag), line });
    after = tag.at(-3) === '-' ? 'all' : tag[1] !== '{' && tag.at(-3) !== '+' ? 'newline' : 'none';
    line += tag.split('\n').length - 1;
    at = start + tag.length;
  }
  return pieces;

  function lineAt(index: number): number {
    return line + source.slice(at, index).split('\n').length - 1;
  }
}

/** The index behind the tag that opens at `start`. Ends within quotes, and braces of a dict, do not count. */
function endOf(source: string, start: number, line: number): number {
  const opening = source.slice(start, start + 2);
  if (opening === '{#') {
    const end = source.indexOf('#}', start + 2);
    if (end < 0) throw new Error(`line ${line}: a comment is not closed by #}`);
    return end + 2;
  }
  const closing = opening === '{{' ? '}}' : '%}';
  let depth = 0;
  for (let i = start + 2; i < source.length; i++) {
    const char = source[i]!;
    if (char === '"' || char === "'") {
      for (i++; i < source.length && source[i] !== char; i++) if (source[i] === '\\') i++;
    } else if (depth === 0 && source.startsWith(closing, i)) return i + 2;
    else if (char === '{') depth++;
    else if (char === '}') depth--;
  }
  throw new Error(`line ${line}: a tag is not closed by ${closing}`);
}

/** `lstrip_blocks`: white space from the line's beginning to a block goes, if nothing else is there. */
function withoutIndent(text: string, source: string, start: number): string {
  const lineStart = text.lastIndexOf('\n') + 1;
  const indent = text.slice(lineStart);
  const fromLineStart = lineStart > 0 || source.lastIndexOf('\n', start - 1) === start - indent.length - 1;
  return fromLineStart && strip(indent, undefined) === '' ? text.slice(0, lineStart) : text;
}

/** The tag without its marks, in the library's words. */
function plain(tag: string): string {
  const variable = tag[1] === '{';
  const marked = variable ? tag.at(-3) === '-' : /[-+]/.test(tag.at(-3)!);
  const inner = tag.slice(/[-+]/.test(tag[2]!) ? 3 : 2, marked ? -3 : -2);
  if (variable) return `{{${inner}}}`;
  const name = strip(inner, undefined);
  if (name === 'generation') return `{% call ${GENERATION}() %}`;
  return name === 'endgeneration' ? '{% endcall %}' : `{%${inner}%}`;
}
