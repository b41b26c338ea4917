/** The gap between sampler and trainer by position in the completion; its form tells causes apart. */
import { useMemo, useState } from 'preact/hooks';
import { useAnswer } from '../../client.js';
import './gap-by-position.css';
import { shortNumber, signedNumber } from '../numbers.js';
import { Answered } from '../status.js';
import { type PositionBin, positionBins } from './position-bins.js';

const WIDTH = 640;
const HEIGHT = 110;
const MOST_BINS = 320;

export function GapByPosition({ run, step }: { run: string; step: number }) {
  const answer = useAnswer('positions', { run, step, measure: 'gap' });
  return (
    <section class="gap-by-position" aria-labelledby="gap-by-position-title">
      <h2 id="gap-by-position-title">Gap against position</h2>
      <p class="soft">
        Rounding is small, and alike at all positions. A mean that is off zero from the first token on is a
        temperature or another setting that one side alone applies; a size that jumps at a place, or grows
        with the position, is a cache or position ids; a size that is raised everywhere about a mean of zero
        is precision.
      </p>
      <Answered answer={answer}>
        {(value) =>
          value.mean.length === 0 ? (
            <p class="soft">The record does not have the log-probs of both sampler and trainer.</p>
          ) : (
            <Chart bins={positionBins(value, MOST_BINS)} />
          )
        }
      </Answered>
    </section>
  );
}

function Chart({ bins }: { bins: PositionBin[] }) {
  const [at, setAt] = useState<number>();
  const { mean, mostMean } = useMemo(() => {
    const mostMean = largestOf(bins.map((bin) => Math.abs(bin.mean)));
    return { mostMean, mean: lineOf(bins, (bin) => 0.5 - bin.mean / (2 * (mostMean || 1))) };
  }, [bins]);
  const { size, largest, low, high } = useMemo(() => logLines(bins), [bins]);
  const bin = at === undefined ? undefined : bins[at];
  const x = at === undefined ? undefined : ((at + 0.5) / bins.length) * WIDTH;
  const point = (event: MouseEvent) => {
    const { left, width } = (event.currentTarget as Element).getBoundingClientRect();
    setAt(Math.max(0, Math.min(bins.length - 1, Math.floor(((event.clientX - left) / width) * bins.length))));
  };
  const panel = (label: string, lines: { kind: string; path: string }[], base?: number) => (
    <svg
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
      onMouseMove={point}
      onMouseLeave={() => setAt(undefined)}
    >
      {base !== undefined && (
        <line class="gap-base" x1="0" x2={WIDTH} y1={base * HEIGHT} y2={base * HEIGHT} />
      )}
      {lines.map(({ kind, path }) => (
        <path key={kind} class={`gap-line gap-${kind}`} d={path} />
      ))}
      {x !== undefined && <line class="gap-mark" x1={x} x2={x} y1="0" y2={HEIGHT} />}
    </svg>
  );
  return (
    <figure>
      <figcaption>
        <Key kind="mean" /> mean, from {signedNumber(-mostMean, 2)} to {signedNumber(mostMean, 2)} nats
      </figcaption>
      {panel(
        `mean gap by position, at most ${shortNumber(mostMean, 2)} nats`,
        [{ kind: 'mean', path: mean }],
        0.5,
      )}
      <figcaption>
        <Key kind="size" /> mean size, <Key kind="largest" /> largest, from {shortNumber(low, 2)} to{' '}
        {shortNumber(high, 2)} nats, log scale
      </figcaption>
      {panel(`size of the gap by position, at most ${shortNumber(high, 2)} nats`, [
        { kind: 'size', path: size },
        { kind: 'largest', path: largest },
      ])}
      <p class="gap-ends soft">
        <span>position {bins[0]!.from}</span>
        <span aria-live="polite">
          {bin &&
            `${bin.from === bin.to ? bin.from : `${bin.from}–${bin.to}`}: mean ${signedNumber(bin.mean, 3)}, size ${shortNumber(bin.size, 3)}, largest ${shortNumber(bin.largest, 3)} nats; ${shortNumber(bin.count)} completions`}
        </span>
        <span>{bins.at(-1)!.to}</span>
      </p>
    </figure>
  );
}

const Key = ({ kind }: { kind: string }) => (
  <svg class="gap-key" viewBox="0 0 24 8" aria-hidden="true">
    <path class={`gap-line gap-${kind}`} d="M0 4H24" />
  </svg>
);

const largestOf = (values: readonly number[]): number =>
  values.filter(Number.isFinite).reduce((most, value) => Math.max(most, value), 0);

/** A line through the bins; NaN is a gap in it. */
function lineOf(bins: readonly PositionBin[], height: (bin: PositionBin) => number): string {
  let isDrawn = false;
  return bins
    .map((bin, i) => {
      const y = height(bin);
      if (!Number.isFinite(y)) {
        isDrawn = false;
        return '';
      }
      const point = `${(((i + 0.5) / bins.length) * WIDTH).toFixed(1)} ${(2 + y * (HEIGHT - 4)).toFixed(1)}`;
      const move = isDrawn ? 'L' : 'M';
      isDrawn = true;
      return `${move}${point}`;
    })
    .join('');
}

/** Smaller gaps are rounding of float32 log-probs. */
const LEAST = 1e-9;

function logLines(bins: readonly PositionBin[]) {
  const high = Math.max(LEAST * 10, largestOf(bins.map((bin) => bin.largest)));
  const sizes = bins.map((bin) => bin.size).filter((value) => value > LEAST);
  const low = sizes.reduce((least, value) => Math.min(least, value), high / 10);
  const height = (value: number) =>
    1 - (Math.log10(Math.max(value, low)) - Math.log10(low)) / (Math.log10(high) - Math.log10(low));
  return {
    low,
    high,
    size: lineOf(bins, (bin) => height(bin.size)),
    largest: lineOf(bins, (bin) => height(bin.largest)),
  };
}
