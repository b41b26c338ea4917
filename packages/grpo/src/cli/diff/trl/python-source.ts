/** Python source as far as a comparison of functions needs it: logical lines, without comments and docstrings. */

/** A statement, or the head of a block; it may go over several lines of text. */
interface LogicalLine {
  text: string;
  indent: number;
}

/** The functions, classes and methods of a file by name, `Class.method` for methods; each with its whole code. */
export function definitionsIn(source: string): Map<string, string> {
  const lines = logicalLines(source);
  const found = new Map<string, string>();
  const visit = (from: number, to: number, prefix: string) => {
    const depth = lines[from]?.indent;
    for (let i = from; i < to; i++) {
      const { text, indent } = lines[i]!;
      const [, keyword, name] = /^\s*(?:async\s+)?(def|class)\s+(\w+)/.exec(text) ?? [];
      if (indent !== depth || name === undefined) continue;
      const end = blockEnd(lines, i, to);
      let start = i;
      while (start > from && /^\s*@/.test(lines[start - 1]!.text)) start--;
      found.set(`${prefix}${name}`, codeOf(lines.slice(start, end), indent));
      if (keyword === 'class' && prefix === '') visit(i + 1, end, `${name}.`);
      i = end - 1;
    }
  };
  visit(0, lines.length, '');
  return found;
}

/** Defaults of a dataclass, by the name of its field. */
export function fieldDefaults(code: string): Map<string, string> {
  const fields = logicalLines(code).flatMap(({ text }): [string, string][] => {
    const [, name, value] = /^\s+(\w+)\s*:[^=]*=\s*(.*)$/s.exec(text) ?? [];
    if (name === undefined) return [];
    const inside = /^field\(\s*(.*)\)$/s.exec(value!.trim())?.[1];
    return [
      [name, inside === undefined ? value!.trim() : (argumentOf(inside, /^default(_factory)?=/) ?? '')],
    ];
  });
  return new Map(fields);
}

/** The value of the argument that begins so, at the top level of a list of arguments. */
function argumentOf(list: string, begins: RegExp): string | undefined {
  let [depth, start] = [0, 0];
  const parts: string[] = [];
  for (const [i, char] of [...list].entries()) {
    if ('([{'.includes(char)) depth++;
    else if (')]}'.includes(char)) depth--;
    else if (char === ',' && depth === 0) {
      parts.push(list.slice(start, i));
      start = i + 1;
    }
  }
  parts.push(list.slice(start));
  const own = parts.map((part) => part.trim()).find((part) => begins.test(part));
  return own?.replace(begins, '');
}

function blockEnd(lines: readonly LogicalLine[], head: number, to: number): number {
  let end = head + 1;
  while (end < to && lines[end]!.indent > lines[head]!.indent) end++;
  return end;
}

/** The lines as text, as far to the left as they go. */
const codeOf = (lines: readonly LogicalLine[], indent: number) =>
  `${lines.map(({ text }) => text.replaceAll(new RegExp(`^ {1,${indent || 1}}`, 'gm'), (own) => own.slice(indent))).join('\n')}\n`;

const DOCSTRING = /^\s*[rRuU]?("""|'''|"|')/;

/** Statements of a source; a comment, an empty line and a string that stands alone are none. */
function logicalLines(source: string): LogicalLine[] {
  const lines: LogicalLine[] = [];
  let [text, depth] = ['', 0];
  const end = () => {
    const own = text.replaceAll(/[ \t]+$/gm, '').replaceAll(/\n{2,}/g, '\n');
    text = '';
    if (own.trim() === '' || (DOCSTRING.test(own) && isOneString(own.trim()))) return;
    lines.push({ text: own, indent: /^ */.exec(own)![0].length });
  };
  for (let i = 0; i < source.length; ) {
    const char = source[i]!;
    if (char === '#') {
      while (i < source.length && source[i] !== '\n') i++;
      continue;
    }
    if (char === '"' || char === "'") {
      const after = stringEnd(source, i);
      text += source.slice(i, after);
      i = after;
      continue;
    }
    if ('([{'.includes(char)) depth++;
    if (')]}'.includes(char)) depth--;
    if (char === '\n' && depth <= 0 && source[i - 1] !== '\\') end();
    else text += char;
    i++;
  }
  end();
  return lines;
}

/** The place after the string literal that begins at a quote. */
function stringEnd(source: string, start: number): number {
  const quote = source[start]!;
  const mark = source.startsWith(quote.repeat(3), start) ? quote.repeat(3) : quote;
  let i = start + mark.length;
  while (i < source.length && !source.startsWith(mark, i)) i += source[i] === '\\' ? 2 : 1;
  return i + mark.length;
}

function isOneString(text: string): boolean {
  const start = text.search(/["']/);
  return stringEnd(text, start) === text.length;
}
