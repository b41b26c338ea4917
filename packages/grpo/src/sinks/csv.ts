/** Tables of numbers for spreadsheets and plotting programs, one row per step and per evaluation. */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { onFile } from '../errors/file-error.js';
import { writeFileAtomic } from '../formats/atomic-file.js';
import { makeFolder } from '../formats/make-folder.js';
import type { Item, Numbers, Sink } from './sink.js';
import type { SinkContext } from './sink-context.js';

export function openCsv({ folder, cursor, done }: SinkContext): Sink {
  const place = join(folder, 'csv');
  makeFolder(place);
  const last = cursor.cutBack(done);
  const steps = new Table(join(place, 'metrics.csv'), last);
  const evaluations = new Table(join(place, 'eval.csv'), last);
  const rowsOf = (items: readonly Item[], kind: 'step' | 'evaluation') =>
    items.flatMap((item) =>
      item.kind === kind && 'values' in item ? [{ step: item.step, ...item.values }] : [],
    );
  return {
    place,
    async send(items) {
      steps.append(rowsOf(items, 'step'));
      evaluations.append(rowsOf(items, 'evaluation'));
    },
  };
}

/** A CSV file with a header, whose first column is the step. A name that first appears in a later row adds a column. */
class Table {
  #columns: string[] = [];

  /** @param last - rows of later steps are dropped */
  constructor(
    private readonly path: string,
    last: number,
  ) {
    if (!existsSync(path)) return;
    // A half-written row at the end is one of a later step.
    const [header, ...rows] = onFile('read', path, () => readFileSync(path, 'utf8'))
      .split('\n')
      .slice(0, -1);
    if (header === undefined) return;
    this.#columns = cellsOf(header);
    const kept = rows.filter((row) => Number(row.slice(0, row.indexOf(','))) <= last);
    this.#write([header, ...kept]);
  }

  append(rows: readonly Numbers[]): void {
    if (rows.length === 0) return;
    const known = new Set(this.#columns);
    const added = [...new Set(rows.flatMap(Object.keys))].filter((name) => !known.has(name));
    if (added.length > 0) this.#widen(added);
    const lines = rows.map((row) => this.#columns.map((name) => row[name] ?? '').join(','));
    onFile('write', this.path, () => appendFileSync(this.path, textOf(lines)));
  }

  #widen(added: readonly string[]): void {
    const [, ...rows] =
      this.#columns.length === 0 ? [] : readFileSync(this.path, 'utf8').split('\n').slice(0, -1);
    this.#columns.push(...added);
    this.#write([this.#columns.map(cell).join(','), ...rows.map((row) => row + ','.repeat(added.length))]);
  }

  #write(lines: readonly string[]): void {
    writeFileAtomic(this.path, textOf(lines));
  }
}

const textOf = (lines: readonly string[]) => lines.map((line) => `${line}\n`).join('');

/** A name as a cell; that of a reward may have a comma in it, and has no newline. */
const cell = (name: string) => (/[",]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name);

/** The cells of a header. */
const cellsOf = (line: string): string[] =>
  [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^",]*))/g)].map(([, quoted, plain]) =>
    quoted === undefined ? plain! : quoted.replaceAll('""', '"'),
  );
