/** A measure against the position in the completion: a column of pixels shows the least and the most of its tokens. */
import { useMemo } from 'preact/hooks';
import { shortNumber, signedNumber } from '../../parts/numbers.js';
import type { Measure } from './measures.js';

const WIDTH = 300;
const HEIGHT = 96;

interface MeasureChartProps {
  measure: Measure;
  values: ArrayLike<number>;
  /** The token that is pointed at or pinned. */
  at: number | undefined;
  onPick(token: number): void;
}

export function MeasureChart({ measure, values, at, onPick }: MeasureChartProps) {
  const base = measure.base;
  const columns = useMemo(
    () => (base === undefined ? undefined : columnsOf(values, base, WIDTH)),
    [values, base],
  );
  if (!columns || base === undefined) return null;
  const { low, high } = columns;
  const y = (value: number) => 4 + ((high - value) / (high - low || 1)) * (HEIGHT - 8);
  const path = columns.extremes
    .map(({ least, most }, x) =>
      least <= most
        ? `M${x + 0.5} ${y(Math.min(least, base)).toFixed(1)}V${y(Math.max(most, base)).toFixed(1)}`
        : '',
    )
    .join('');
  const tokenAt = (event: MouseEvent) => {
    const { left, width } = (event.currentTarget as Element).getBoundingClientRect();
    const x = Math.max(0, Math.min(WIDTH - 1, Math.floor(((event.clientX - left) / width) * WIDTH)));
    return columns.extremes[x]!.furthest;
  };
  const mark = at === undefined || at < 0 ? undefined : ((at + 0.5) / values.length) * WIDTH;
  return (
    <figure class="completion-chart">
      <figcaption class="soft">
        {measure.name} by position: from {signedNumber(low, 3)} to {signedNumber(high, 3)} {measure.unit}
      </figcaption>
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: the strip does the same by keys */}
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${measure.name} of ${values.length} tokens, from ${shortNumber(low)} to ${shortNumber(high)}`}
        onClick={(event) => onPick(tokenAt(event))}
      >
        <line class="completion-chart-base" x1="0" x2={WIDTH} y1={y(base)} y2={y(base)} />
        <path class="completion-chart-values" d={path} />
        {mark !== undefined && <line class="completion-chart-mark" x1={mark} x2={mark} y1="0" y2={HEIGHT} />}
      </svg>
      <p class="completion-chart-ends soft">
        <span>0</span>
        <span>press a place to go there</span>
        <span>{values.length - 1}</span>
      </p>
    </figure>
  );
}

interface Column {
  least: number;
  most: number;
  /** The token whose value is furthest from the base. */
  furthest: number;
}

/** The least and the most in each of `width` columns; NaN and infinities are left out. */
export function columnsOf(values: ArrayLike<number>, base: number, width: number) {
  const extremes: Column[] = Array.from({ length: width }, (_, x) => ({
    least: Infinity,
    most: -Infinity,
    furthest: Math.min(values.length - 1, Math.floor((x / width) * values.length)),
  }));
  let [low, high] = [base, base];
  for (let t = 0; t < values.length; t++) {
    const value = values[t]!;
    if (!Number.isFinite(value)) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
    const first = Math.floor((t / values.length) * width);
    const last = Math.max(first + 1, Math.floor(((t + 1) / values.length) * width));
    for (let x = first; x < last; x++) {
      const column = extremes[x]!;
      if (column.least > column.most || Math.abs(value - base) > Math.abs(values[column.furthest]! - base))
        column.furthest = t;
      column.least = Math.min(column.least, value);
      column.most = Math.max(column.most, value);
    }
  }
  return { extremes, low, high };
}
