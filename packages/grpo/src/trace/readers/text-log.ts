import { counted } from '../../errors/counted.js';
import { FormatError } from '../../errors/format-error.js';
import { excerpt } from '../../errors/printable.js';
import { type Line, linesOf, stripAnsi } from './lines.js';
import { Dicts } from './log-formats/dicts.js';
import { DualConsole } from './log-formats/dual-console.js';
import { withTableRows } from './log-formats/html-rows.js';
import type { LogFormat } from './log-formats/log-format.js';
import { LongTable } from './log-formats/long-table.js';
import { NamedLines } from './log-formats/named-lines.js';
import { NanoGpt } from './log-formats/nano-gpt.js';
import { Rookworld } from './log-formats/rookworld.js';
import { Tables } from './log-formats/tables.js';
import { WandbSummary } from './log-formats/wandb-summary.js';
import type { Place } from './place.js';
import type { Reading } from './reading.js';
import { BrokenParts } from './reading.js';
import { inEnglish } from './rows/foreign-names.js';
import type { CollectedLog } from './rows/run-collector.js';
import { type Hints, mergedHints } from './series/hints.js';
import { LogFacts } from './series/log-facts.js';
import { readingOf } from './series/log-reading.js';

/**
 * Reads a text log with every format at once: what a log is can stand far from its beginning.
 *
 * @throws FormatError when no line told any metric
 */
export function readTextLog({ path, head, watch }: Place, hints: Hints = {}): Reading {
  const lines = linesOf(path, 0, watch);
  const onlyRows = beginsWithRow(head);
  return readLines(path, onlyRows ? lines : withTableRows(lines), onlyRows, hints);
}

/** The same of the lines of a file, whatever they were before; with `onlyRows` each must be a row. */
export function readLines(path: string, text: Iterable<Line>, onlyRows: boolean, hints: Hints = {}): Reading {
  const broken = new BrokenParts();
  const facts = new LogFacts();
  // Formats of one trainer know what their numbers mean; of the general ones the first wins among equals.
  const own: LogFormat[] = onlyRows ? [] : [new Rookworld(), new NanoGpt(), new DualConsole()];
  const general: LogFormat[] = onlyRows
    ? [new Dicts(path, broken, true, facts)]
    : [
        new Dicts(path, broken, false, facts),
        new NamedLines(),
        new Tables(path, broken),
        new LongTable(),
        new WandbSummary(),
      ];
  const formats = [...own, ...general];
  let lines = 0;
  for (const line of text) {
    lines++;
    const shown = { ...line, text: stripAnsi(line.text) };
    if (!onlyRows) facts.take(shown);
    // Formats of one trainer know its language.
    for (const format of own) format.take(shown);
    const named = onlyRows ? shown : { ...shown, text: inEnglish(shown.text) };
    for (const format of general) format.take(named);
  }
  const ended = formats.map((format) => {
    const runs = format.finish();
    return { format, runs, numbers: runs.reduce((sum, run) => sum + numbersIn(run), 0) };
  });
  const named = ended.find(
    ({ format, numbers }) => numbers > 0 && own.includes(format) && format.hints?.isGrpo,
  );
  const { format, runs, numbers } = named ?? ended.reduce((a, b) => (b.numbers > a.numbers ? b : a));
  if (numbers === 0) throw nothingFound(path, lines, broken, facts);
  const told = facts.hints(runs[0]!.entries[0]?.line);
  return readingOf({
    files: [path],
    runs,
    kind: (run) => format.kind(run),
    broken,
    notes: format.notes?.() ?? [],
    hints: mergedHints(told, hints, format.hints ?? {}),
  });
}

const numbersIn = ({ entries }: CollectedLog) =>
  entries.reduce((sum, { values }) => sum + Object.keys(values).length, 0);

/** Whether the first line is an object, or was to be one, and most below it: then each line must be. */
function beginsWithRow(head: string): boolean {
  const lines = head.split('\n').filter((line) => line.trim() !== '');
  const first = (lines[0] ?? '').trim();
  // Settings may be printed as one object above a log of another format.
  const isMost = 2 * lines.filter((line) => /^\s*\{/.test(line)).length > lines.length;
  return /^\{\s*"/.test(first) && (first.endsWith('}') || first.length >= head.trim().length) && isMost;
}

function nothingFound(path: string, lines: number, broken: BrokenParts, facts: LogFacts): FormatError {
  const [first] = broken.first;
  const found = first
    ? `; ${counted(broken.count, 'line')} ${broken.count === 1 ? 'looks like a broken row' : 'look like broken rows'}, such as line ${first.line}: ${first.reason}`
    : '';
  const none =
    lines === 1 ? 'its only line has no training metrics' : `none of its ${lines} lines has training metrics`;
  const size = lines === 0 ? 'the file is empty' : none;
  const { exception, skips } = facts.hints().meaning ?? {};
  const skipped = skips
    ? `; ${counted(skips.count, 'line')} of it ${skips.count === 1 ? 'says' : 'say'} that an update is skipped, first ${excerpt(skips.text)} (line ${skips.line})`
    : '';
  const ended = exception ? `; it ends with ${excerpt(exception.text)} (line ${exception.line})` : '';
  return new FormatError(path, `${size}${found}${skipped}${ended}`, {
    hint: 'Metrics are read from JSON, Python dicts, tables (CSV, Markdown, columns) and lines of names and numbers such as “step 3 | loss 0.1 | reward 0.5”. They need a loss or a reward in them: set logging_steps, and report_to or the console. Under a name of its own, --metric reward=COLUMN tells it.',
  });
}
