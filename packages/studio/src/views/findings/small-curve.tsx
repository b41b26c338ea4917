/** One curve as a small figure with its range in numbers; steps may be marked. */
import type { Curve } from 'grpo/studio';
import { shortNumber } from '../../parts/numbers.js';
import { polylines } from '../../parts/polylines.js';
import { SafeText, visible } from '../../parts/safe-text.js';

const WIDTH = 300;
const HEIGHT = 80;
/** More points than this show nothing more, and more marks hide the curve. */
const MOST_POINTS = 600;
const MOST_MARKS = 12;

export function SmallCurve({ curve, marks }: { curve: Curve; marks: readonly number[] }) {
  const { name, steps } = curve;
  const drawn = drawnOf(curve);
  if (!drawn) return null;
  const [from, to] = [steps[0]!, steps.at(-1)!];
  const shown = marks.filter((step) => step >= from && step <= to).slice(0, MOST_MARKS);
  const x = (step: number) => (WIDTH * (step - from)) / Math.max(1, to - from);
  const [low, high] = [drawn.low, drawn.high].map((value) => shortNumber(value));
  return (
    <figure class="findings-figure">
      <svg
        role="img"
        aria-label={`${visible(name)} over the steps`}
        viewBox={`-4 -4 ${WIDTH + 8} ${HEIGHT + 8}`}
      >
        {shown.map((step) => (
          <line key={step} class="findings-mark" x1={x(step)} x2={x(step)} y1={-4} y2={HEIGHT + 4} />
        ))}
        {drawn.pieces.map((points) => (
          <polyline key={points} points={points} />
        ))}
      </svg>
      <figcaption>
        <span class="mono">
          <SafeText text={name} most={120} />
        </span>
        : {low === high ? low : `${low} to ${high}`}
        {drawn.isLog && ', log scale'}
        {shown.length > 0 && `, marked: step ${shown.join(', ')}`}
      </figcaption>
    </figure>
  );
}

interface Drawn {
  pieces: string[];
  low: number;
  high: number;
  isLog: boolean;
}

/** From this ratio on a curve is drawn on a log scale. */
const LOG_RATIO = 1000;

/** Stretches of finite values as points, and the range; undefined for fewer than two. NaN and infinities leave gaps. */
export function drawnOf({ steps, values }: Pick<Curve, 'steps' | 'values'>): Drawn | undefined {
  const finite = values.filter(Number.isFinite);
  if (finite.length < 2) return undefined;
  const [low, high] = [finite.reduce((a, b) => Math.min(a, b)), finite.reduce((a, b) => Math.max(a, b))];
  const every = Math.ceil(values.length / MOST_POINTS);
  const span = Math.max(1, steps.at(-1)! - steps[0]!);
  const isLog = low > 0 && high / low >= LOG_RATIO;
  const at = isLog ? Math.log : (value: number) => value;
  const points: [number, number][] = [];
  for (let i = 0; i < values.length; i += every) {
    const value = values[i]!;
    const share = high === low ? 0.5 : (at(value) - at(low)) / (at(high) - at(low));
    const y = Number.isFinite(value) ? HEIGHT * (1 - share) : Number.NaN;
    points.push([(WIDTH * (steps[i]! - steps[0]!)) / span, y]);
  }
  return { pieces: polylines(points), low, high, isLog };
}
