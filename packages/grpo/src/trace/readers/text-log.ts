import { FormatError } from '../../errors/format-error.js';
import { linesOf, stripAnsi } from './lines.js';
import { Dicts } from './log-formats/dicts.js';
import { DualConsole } from './log-formats/dual-console.js';
import { KeyValues } from './log-formats/key-values.js';
import type { LogFormat } from './log-formats/log-format.js';
import { NanoGpt } from './log-formats/nano-gpt.js';
import { Rookworld } from './log-formats/rookworld.js';
import type { Place } from './place.js';
import type { Reading } from './reading.js';
import { BrokenParts } from './reading.js';
import { seriesOf } from './series-of.js';

/**
 * Reads a text log with every format at once: what a log is can stand far from its beginning.
 *
 * @throws FormatError when no line told any metric
 */
export function readTextLog({ path, head }: Place): Reading {
  const broken = new BrokenParts();
  const onlyRows = beginsWithRow(head);
  // What is asked first wins among equals.
  const formats: LogFormat[] = onlyRows
    ? [new Dicts(path, broken, onlyRows)]
    : [new Rookworld(), new NanoGpt(), new DualConsole(), new Dicts(path, broken, false), new KeyValues()];
  let lines = 0;
  for (const line of linesOf(path)) {
    lines++;
    const shown = { ...line, text: stripAnsi(line.text) };
    for (const format of formats) format.take(shown);
  }
  const best = formats.reduce((a, b) => (b.rows > a.rows ? b : a));
  if (best.rows === 0) throw nothingFound(path, lines, broken);
  const collected = best.finish();
  const { series, declared, isGrpo, notes } = seriesOf(collected, best.hints);
  return { kind: best.kind(collected), files: [path], series, declared, isGrpo, broken, notes };
}

/** Whether the first line is an object, or was to be one: then each line must be. */
function beginsWithRow(head: string): boolean {
  const first = head.trimStart().split('\n', 1)[0]!.trim();
  return /^\{\s*"/.test(first) && (first.endsWith('}') || first.length >= head.trim().length);
}

function nothingFound(path: string, lines: number, broken: BrokenParts): FormatError {
  const [first] = broken.first;
  const found = first
    ? `; ${broken.count} lines look like broken rows, such as line ${first.line}: ${first.reason}`
    : '';
  const size = lines === 0 ? 'the file is empty' : `none of its ${lines} lines has training metrics`;
  return new FormatError(path, `${size}${found}`, {
    hint: 'Supported: rows of metrics as JSON or Python dicts, CSV with a header, verl’s and prime-rl’s consoles, and the logs of rookworld, grpo-dual and nano_gpt. A log needs a loss or a reward in it: set logging_steps, and report_to or the console.',
  });
}
