import { basename } from 'node:path';
import { EmptyFile } from '../../../errors/format-error.js';
import { excerpt } from '../../../errors/printable.js';
import { streamRows } from '../../../formats/read-rows.js';
import type { Watch } from '../../../progress/watch.js';
import { type Finding, Findings } from './finding.js';
import { type LengthSummary, Lengths, type Ruler } from './lengths.js';
import { keyOf, type Overlap, RUN } from './overlap.js';
import type { RowReader } from './row-reader.js';

/** Rows of a file, with their problems and lengths. */
export interface FileReport {
  path: string;
  rows: number;
  findings: Finding[];
  /** Lengths of the prompts; null when no row has one. */
  lengths: LengthSummary | null;
}

export interface CheckedWith {
  reader: RowReader;
  ruler: Ruler;
  watch: Watch;
}

const reportRow = (watch: Watch, path: string, line: number) =>
  watch.report({ stage: `reading ${basename(path)}`, done: line, total: 0, unit: 'lines' });

/** The questions of a file, with their lines; rows without one are left out. */
export async function* questionsOf(
  path: string,
  { reader, watch }: Pick<CheckedWith, 'reader' | 'watch'>,
): AsyncGenerator<{ line: number; question: string }> {
  for await (const { line, value } of streamRows(path)) {
    reportRow(watch, path, line);
    const item = reader.read(value);
    if ('question' in item) yield { line, question: item.question };
  }
}

/**
 * Reads a file once and holds a hash and a length per row.
 *
 * @param train - takes the questions in, where a held-out file comes after
 * @param held - the training file that was checked before, and the overlap with its questions
 */
export async function checkFile(
  path: string,
  { reader, ruler, watch }: CheckedWith,
  { train, held }: { train?: Overlap | undefined; held?: { path: string; overlap: Overlap } | undefined },
): Promise<FileReport> {
  const findings = new Findings();
  const lengths = new Lengths();
  const seen = new Map<number, number>();
  let rows = 0;
  for await (const { line, value } of streamRows(path)) {
    reportRow(watch, path, line);
    rows++;
    const item = reader.read(value);
    if (!('question' in item)) {
      findings.add(item.kind, line, () => item.problem);
      continue;
    }
    const { question } = item;
    const shown = () => excerpt(question.trim());
    const key = keyOf(question);
    const before = seen.get(key);
    if (before === undefined) seen.set(key, line);
    else findings.add('duplicate', line, () => `as in line ${before}: ${shown()}`);
    train?.train(line, question);
    const shared = held?.overlap.of(question);
    if (shared) {
      const what = shared.kind === 'leaked' ? 'the same as' : `${RUN} words in a row are also in`;
      findings.add(shared.kind, line, () => `${what} ${held!.path}:${shared.line}: ${shown()}`);
    }
    measure(line, question);
  }
  if (rows === 0) throw new EmptyFile(path, 'the file has no rows');
  return { path, rows, findings: findings.all(), lengths: lengths.summary() };

  function measure(line: number, question: string): void {
    const length = ruler.measure(reader.template.render(question));
    if (typeof length !== 'number') {
      findings.add('no tokens', line, () => length.problem);
      return;
    }
    lengths.add(line, length);
    if (!ruler.window) return;
    const { positions, completion } = ruler.window;
    if (length + completion <= positions) return;
    const sum = `${length} tokens and ${completion} of a completion are more than the model's ${positions}`;
    findings.add('too long', line, () => sum);
  }
}
