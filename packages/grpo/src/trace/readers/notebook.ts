/** Jupyter notebooks: what the cells printed, their tables, and the settings in their code. */
import { FormatError } from '../../errors/format-error.js';
import { isObject, jsonProblem } from '../../formats/json.js';
import { wholeText } from './json-log.js';
import { type Line, stripAnsi } from './lines.js';
import { rowsOfTables } from './log-formats/html-rows.js';
import type { Place } from './place.js';
import type { Reading } from './reading.js';
import { LogFacts } from './series/log-facts.js';
import { readLines } from './text-log.js';

export const isNotebook = ({ isFolder, name, head }: Place): boolean =>
  !isFolder && (name.endsWith('.ipynb') || (/^\s*\{/.test(head) && /"nbformat"\s*:/.test(head)));

/**
 * Reads the outputs of a notebook's cells.
 *
 * @throws FormatError when it is none, or no output has metrics
 */
export function readNotebook({ path }: Place): Reading {
  const notebook = parsed(path);
  const cells = isObject(notebook) && Array.isArray(notebook.cells) ? notebook.cells.filter(isObject) : [];
  const facts = new LogFacts();
  for (const [i, text] of cells.flatMap(({ source }) => textOf(source).split('\n')).entries())
    facts.take({ line: i + 1, text });
  const outputs = cells.flatMap(({ outputs: all }) => (Array.isArray(all) ? all.filter(isObject) : []));
  if (outputs.length === 0)
    throw new FormatError(path, 'a notebook without outputs: its cells were cleared, or never run');
  const { meaning, ...told } = facts.hints();
  // Lines of code are no lines of the output.
  const { exception: _, command: __, ...settings } = meaning ?? {};
  const lines = outputs.flatMap(linesOf).map((text, i): Line => ({ line: i + 1, text }));
  const reading = readLines(path, lines, false, { ...told, meaning: settings });
  return { ...reading, kind: `${reading.kind} in a notebook` };
}

function parsed(path: string): unknown {
  const text = wholeText(path);
  try {
    return JSON.parse(text);
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause;
    throw new FormatError(path, `not a whole notebook: ${jsonProblem(cause, text)}`, { cause });
  }
}

function linesOf(output: Record<string, unknown>): string[] {
  if (output.output_type === 'error') {
    const raised = `${textOf(output.ename)}: ${textOf(output.evalue).split('\n', 1)[0]}`;
    return ['Traceback (most recent call last):', raised];
  }
  const data = isObject(output.data) ? output.data : {};
  const html = textOf(data['text/html']);
  const tables = html.includes('<tr') ? rowsOfTables(html) : [];
  const text = textOf(output.text ?? (tables.length > 0 ? '' : data['text/plain']));
  return [...stripAnsi(text).split(/[\r\n]+/), ...tables];
}

/** A text that a notebook may have in lines. */
const textOf = (value: unknown): string =>
  Array.isArray(value) ? value.join('') : typeof value === 'string' ? value : '';
