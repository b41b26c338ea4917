/** A metric over the steps as an inline SVG. */
import { written } from '../../doctor/words/index.js';
import type { MetricSeries } from '../../trace/index.js';
import { escapeHtml } from './html.js';

const WIDTH = 640;
const HEIGHT = 140;
const LEFT = 64;
/** More points than columns show nothing more. */
const MOST_POINTS = 1200;

/** A figure of one metric; empty where fewer than two entries have it. */
export function curve({ entries }: MetricSeries, name: string): string {
  const all = entries.flatMap(({ step, values }) => {
    const value = values[name];
    return value === undefined || !Number.isFinite(value) ? [] : [{ step, value }];
  });
  if (all.length < 2) return '';
  const every = Math.ceil(all.length / MOST_POINTS);
  const points = all.filter((_, i) => i % every === 0 || i === all.length - 1);
  const values = points.map(({ value }) => value);
  const [low, high] = [values.reduce((a, b) => Math.min(a, b)), values.reduce((a, b) => Math.max(a, b))];
  const [from, to] = [points[0]!.step, points.at(-1)!.step];
  const x = (step: number) => LEFT + ((WIDTH - LEFT - 8) * (step - from)) / Math.max(1, to - from);
  const y = (value: number) => HEIGHT - 20 - ((HEIGHT - 32) * (value - low)) / (high - low || 1);
  const path = points.map(({ step, value }) => `${x(step).toFixed(1)},${y(value).toFixed(1)}`).join(' ');
  const label = (text: string, at: [number, number], anchor: string) =>
    `<text x="${at[0]}" y="${at[1]}" text-anchor="${anchor}" font-size="11" fill="currentColor">${escapeHtml(text)}</text>`;
  return `<figure><svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${escapeHtml(name)}">
<line x1="${LEFT}" y1="${HEIGHT - 20}" x2="${WIDTH - 8}" y2="${HEIGHT - 20}" stroke="currentColor" opacity=".3"/>
<polyline points="${path}" fill="none" stroke="#1e88e5" stroke-width="1.5"/>
${label(written(high), [LEFT - 6, 16], 'end')}${low === high ? '' : label(written(low), [LEFT - 6, HEIGHT - 20], 'end')}
${label(`step ${from}`, [LEFT, HEIGHT - 4], 'start')}${label(String(to), [WIDTH - 8, HEIGHT - 4], 'end')}
</svg><figcaption>${escapeHtml(name)}</figcaption></figure>`;
}
