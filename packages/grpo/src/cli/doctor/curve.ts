/** A metric over the steps as an inline SVG, with the steps marked that a finding cites. */
import { formatValue } from '../../doctor/sentence.js';
import type { MetricSeries } from '../../trace/index.js';
import { escapeHtml } from './html.js';

const WIDTH = 640;
const HEIGHT = 150;
const [LEFT, RIGHT, TOP, BOTTOM] = [70, 12, 18, 22];
/** More points than columns show nothing more. */
const MOST_POINTS = 1200;
/** More marks than this hide the curve. */
const MOST_MARKS = 12;

/** A figure of one metric; empty where fewer than two entries have it. */
export function curve({ entries }: MetricSeries, name: string, marks: readonly number[] = []): string {
  const all = entries.flatMap(({ step, values }) => {
    const value = values[name];
    return value === undefined ? [] : [{ step, value }];
  });
  const finite = all.flatMap(({ value }) => (Number.isFinite(value) ? [value] : []));
  if (finite.length < 2) return '';
  const every = Math.ceil(all.length / MOST_POINTS);
  const points = all.filter((_, i) => i % every === 0 || i === all.length - 1);
  const [low, high] = [finite.reduce((a, b) => Math.min(a, b)), finite.reduce((a, b) => Math.max(a, b))];
  const [from, to] = [points[0]!.step, points.at(-1)!.step];
  const x = (step: number) => LEFT + ((WIDTH - LEFT - RIGHT) * (step - from)) / Math.max(1, to - from);
  const middle = (TOP + HEIGHT - BOTTOM) / 2;
  const y = (value: number) =>
    high === low ? middle : HEIGHT - BOTTOM - ((HEIGHT - TOP - BOTTOM) * (value - low)) / (high - low);
  const level = (value: number) => rule(LEFT, y(value), WIDTH - RIGHT, y(value), 'level');
  const shown = marks.filter((step) => step >= from && step <= to).slice(0, MOST_MARKS);
  return `<figure><svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${escapeHtml(name)} over the steps">
${[...new Set([low, high, ...(low < 0 && high > 0 ? [0] : [])])].map(level).join('')}
${shown.map((step) => rule(x(step), TOP - 6, x(step), HEIGHT - BOTTOM, 'mark')).join('')}
${runsOf(points)
  .map((run) => path(run.map(({ step, value }) => [x(step), y(value)])))
  .join('')}
${label(formatValue(high), LEFT - 6, y(high) + 4, 'end')}${low === high ? '' : label(formatValue(low), LEFT - 6, y(low) + 4, 'end')}
${label(`step ${from}`, LEFT, HEIGHT - 6, 'start')}${label(String(to), WIDTH - RIGHT, HEIGHT - 6, 'end')}
</svg><figcaption><code>${escapeHtml(name)}</code>${shown.length > 0 ? `, marked: step ${shown.join(', ')}` : ''}</figcaption></figure>`;
}

interface Point {
  step: number;
  value: number;
}

/** Stretches of finite numbers; NaN and infinities leave gaps. */
function runsOf(points: readonly Point[]): Point[][] {
  const runs: Point[][] = [[]];
  for (const point of points) {
    if (Number.isFinite(point.value)) runs.at(-1)!.push(point);
    else if (runs.at(-1)!.length > 0) runs.push([]);
  }
  return runs.filter((run) => run.length > 0);
}

function path(places: readonly (readonly [number, number])[]): string {
  const text = places.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join(' ');
  const [[x, y]] = places as [readonly [number, number]];
  return places.length === 1
    ? `<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="2" class="dot"/>`
    : `<polyline points="${text}" class="line"/>`;
}

const rule = (x1: number, y1: number, x2: number, y2: number, kind: string) =>
  `<line x1="${x1.toFixed(1)}" y1="${y1.toFixed(1)}" x2="${x2.toFixed(1)}" y2="${y2.toFixed(1)}" class="${kind}"/>`;

const label = (text: string, x: number, y: number, anchor: string) =>
  `<text x="${x}" y="${y.toFixed(1)}" text-anchor="${anchor}">${escapeHtml(text)}</text>`;
