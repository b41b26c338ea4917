import { mean } from '../../maths/moments.js';

/** How a chart is drawn. */
export interface ChartOptions {
  /** Columns and rows of the whole chart in characters, axis included. 72 × 10 when not given. */
  width?: number;
  height?: number;
  /** Braille dots, or `*` where they cannot be shown. From the locale when not given. */
  unicode?: boolean;
  /** Unit of the horizontal axis. */
  unit?: string;
}

/** Rows and columns of dots in a character. */
interface Grain {
  columns: number;
  rows: number;
}

// Bit of each dot of a braille character, by row and column.
const BRAILLE = [
  [0x01, 0x08],
  [0x02, 0x10],
  [0x04, 0x20],
  [0x40, 0x80],
] as const;

/** Columns that the longest label takes: `-1.23e-10`. */
const LABEL_WIDTH = 9;

function label(value: number): string {
  return value !== 0 && Math.abs(value) < 1e-3 ? value.toExponential(2) : value.toPrecision(3);
}

/**
 * A number series as a line chart, with the smallest and largest shown value on the axis and the first and last
 * index below. A long series is averaged, a short one drawn wider; a number that is not finite leaves a gap.
 */
export function lineChart(series: readonly number[], options: ChartOptions = {}): string {
  const { width = 72, height = 10, unicode = isUtf8(process.env), unit = 'step' } = options;
  const grain: Grain = unicode ? { columns: 2, rows: 4 } : { columns: 1, rows: 1 };
  const rows = Math.max(1, height - 1);
  const points = resample(series, Math.max(1, width - LABEL_WIDTH - 1) * grain.columns);
  const shown = points.filter(Number.isFinite);
  if (shown.length === 0) return '(nothing to draw yet)';
  const low = Math.min(...shown);
  const high = Math.max(...shown);
  const axis = Math.max(label(low).length, label(high).length);

  const dots = plot(points, low, high, rows * grain.rows);
  const cell = unicode ? brailleCell : asciiCell;
  const plotted = Math.ceil(points.length / grain.columns);
  const rowOfHigh = low < high ? 0 : rows >> 1;
  const lines = Array.from({ length: rows }, (_, row) => {
    const text = row === rowOfHigh ? label(high) : row === rows - 1 && low < high ? label(low) : '';
    const cells = Array.from({ length: plotted }, (_, column) =>
      cell(dots, row * grain.rows, column * grain.columns),
    );
    return `${text.padStart(axis)}${unicode ? '│' : '|'}${cells.join('')}`.trimEnd();
  });
  const last = String(series.length);
  const below = `${unit} 1`.padEnd(Math.max(plotted - last.length, unit.length + 3));
  return [...lines, `${' '.repeat(axis + 1)}${below}${series.length > 1 ? last : ''}`.trimEnd()].join('\n');
}

/** Whether the terminal's locale is UTF-8, in the order in which the C library looks. */
export function isUtf8(env: Record<string, string | undefined>): boolean {
  const locale = env.LC_ALL || env.LC_CTYPE || env.LANG || '';
  return /utf-?8/i.test(locale);
}

/** The series at no more than `columns` equally spaced places: averaged where it is longer, a line where shorter. */
function resample(series: readonly number[], columns: number): number[] {
  return series.length > columns ? average(series, columns) : interpolate(series, columns);
}

function average(series: readonly number[], columns: number): number[] {
  return Array.from({ length: columns }, (_, i) => {
    const from = Math.floor((i * series.length) / columns);
    const to = Math.floor(((i + 1) * series.length) / columns);
    return mean(series.slice(from, to).filter(Number.isFinite));
  });
}

function interpolate(series: readonly number[], columns: number): number[] {
  if (series.length < 2) return [...series];
  const factor = Math.floor((columns - 1) / (series.length - 1));
  return Array.from({ length: (series.length - 1) * factor + 1 }, (_, column) => {
    const i = Math.floor(column / factor);
    const part = (column % factor) / factor;
    return part === 0 ? series[i]! : series[i]! * (1 - part) + series[i + 1]! * part;
  });
}

/** `dots[row][column]` for `rows` rows of dots, highest first; neighbours are joined by vertical strokes. */
function plot(points: readonly number[], low: number, high: number, rows: number): boolean[][] {
  const dots = Array.from({ length: rows }, () => points.map(() => false));
  const rowOf = (value: number) =>
    high === low ? rows >> 1 : Math.round(((high - value) / (high - low)) * (rows - 1));
  points.forEach((value, column) => {
    if (!Number.isFinite(value)) return;
    const row = rowOf(value);
    const before = points[column - 1];
    const start = before !== undefined && Number.isFinite(before) ? rowOf(before) : row;
    // The stroke begins beside the previous dot, not on its row.
    const first = start === row ? row : start + Math.sign(row - start);
    for (let at = Math.min(first, row); at <= Math.max(first, row); at++) dots[at]![column] = true;
  });
  return dots;
}

function brailleCell(dots: readonly boolean[][], row: number, column: number): string {
  let bits = 0;
  BRAILLE.forEach((pair, dy) => {
    pair.forEach((bit, dx) => {
      if (dots[row + dy]?.[column + dx]) bits |= bit;
    });
  });
  return bits === 0 ? ' ' : String.fromCharCode(0x2800 + bits);
}

function asciiCell(dots: readonly boolean[][], row: number, column: number): string {
  return dots[row]?.[column] ? '*' : ' ';
}
