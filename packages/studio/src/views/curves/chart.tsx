import type { Band } from 'grpo/studio';
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { shortNumber, wholeNumber } from '../../parts/numbers.js';
import { SafeText, visible } from '../../parts/safe-text.js';
import { type Aligned, alignLines, nearest, stepsText } from './align.js';
import type { CommonCursor } from './cursor.js';
import { useInSight } from './in-sight.js';
import type { ChartPlan } from './layout.js';
import { LineSample } from './line-sample.js';
import type { Colours } from './line-style.js';
import type { Mark } from './marks.js';
import { NumberTable } from './number-table.js';
import { Plot, type PlotContent } from './plot.js';
import type { Records } from './records.js';
import type { Span } from './span.js';

/** Settings that all charts of the page share. */
export interface ChartsAround {
  run: string;
  colours: Colours;
  cursor: CommonCursor;
  span: Span;
  isZoomed: boolean;
  isLog: boolean;
  records: Records;
  zoom(span: Span | undefined): void;
  /** Opens the recorded step that is nearest to the cursor. */
  open(): void;
}

const HEIGHT = 170;

export function Chart({
  chart,
  marks,
  around,
}: {
  chart: ChartPlan;
  marks: readonly Mark[];
  around: ChartsAround;
}) {
  const section = useRef<HTMLElement>(null);
  const { isInSight, wasInSight } = useInSight(section);
  const { isLog, span, cursor } = around;
  const aligned = useMemo(
    () => (wasInSight ? alignLines(chart.lines, { isLog, isStack: chart.isStack }) : undefined),
    [wasInSight, chart, isLog],
  );
  return (
    <section
      ref={section}
      class="curves-chart"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a chart is moved through and opened by keys
      tabIndex={0}
      aria-label={summary(chart, aligned)}
      data-chart={chart.key}
      onKeyDown={(event) => aligned && event.target === section.current && pressed(event, aligned, around)}
    >
      <h3>
        <SafeText text={chart.title} most={80} />
        {chart.unit !== undefined && <span class="soft"> · {chart.unit}</span>}
      </h3>
      <Legend chart={chart} aligned={aligned} cursor={cursor} span={span} />
      <Canvas
        chart={chart}
        aligned={aligned}
        marks={marks}
        around={around}
        isInSight={isInSight}
        wasInSight={wasInSight}
      />
      <Notes chart={chart} aligned={aligned} isLog={isLog} />
      {aligned && <NumberTable chart={chart} aligned={aligned} span={span} />}
    </section>
  );
}

function Canvas({
  chart,
  aligned,
  marks,
  around,
  isInSight,
  wasInSight,
}: {
  chart: ChartPlan;
  aligned: Aligned | undefined;
  marks: readonly Mark[];
  around: ChartsAround;
  isInSight: boolean;
  wasInSight: boolean;
}) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<Plot>(null);
  const now = useRef(around);
  now.current = around;
  const { run, span, records, colours, isLog, cursor } = around;
  const content = useMemo<PlotContent | undefined>(
    () => aligned && { run, chart, aligned, span, marks, records },
    [run, chart, aligned, span, marks, records],
  );
  const structure = JSON.stringify([chart.isStack, chart.lines.map((line) => [line.style, line.isMarks])]);
  useLayoutEffect(() => {
    if (!wasInSight) return;
    const width = place.current!.clientWidth;
    const made = new Plot(
      place.current!,
      content!,
      { colours, isLog, width, height: HEIGHT },
      {
        point: (step) => cursor.move(step),
        zoom: (to) => now.current.zoom(to),
        reset: () => now.current.zoom(undefined),
        open: () => now.current.open(),
      },
      () => now.current.isZoomed,
    );
    plot.current = made;
    const size = new ResizeObserver(() => made.resize(place.current?.clientWidth ?? width));
    size.observe(place.current!);
    const forget = cursor.listen(() => made.point(cursor.step));
    return () => {
      size.disconnect();
      forget();
      made[Symbol.dispose]();
    };
  }, [wasInSight, structure, colours, isLog, cursor]);
  useEffect(() => {
    if (isInSight && content) plot.current?.update(content);
  }, [isInSight, content]);
  return <div ref={place} class="curves-canvas" />;
}

/** The lines with their values at the cursor; without one the last in sight. */
function Legend({
  chart,
  aligned,
  cursor,
  span,
}: {
  chart: ChartPlan;
  aligned: Aligned | undefined;
  cursor: CommonCursor;
  span: Span;
}) {
  const list = useRef<HTMLUListElement>(null);
  useLayoutEffect(() => {
    if (!aligned) return;
    // Forty charts follow the mouse: only their numbers are written.
    const write = () => {
      const places = list.current!.querySelectorAll('b');
      for (const [i, place] of places.entries()) place.textContent = valueText(aligned, i, cursor.step, span);
    };
    write();
    return cursor.listen(write);
  }, [aligned, cursor, span]);
  const isNamed = chart.lines.length > 1 || chart.lines[0]!.label !== chart.title;
  return (
    <ul class="curves-legend" ref={list}>
      {chart.lines.map(({ label, style, isMarks, curve }) => (
        <li key={`${label} ${style}`} title={visible(curve.name)}>
          <LineSample style={style} isMarks={isMarks} />
          {isNamed && <SafeText text={label} most={60} />} <b />
        </li>
      ))}
    </ul>
  );
}

function valueText({ steps, values }: Aligned, line: number, step: number | undefined, span: Span): string {
  const row = values[line]!;
  if (step === undefined)
    return shortNumber(row.findLast((value, i) => value !== undefined && steps[i]! <= span[1]));
  const near = nearest(steps, step);
  return near === undefined ? '–' : shortNumber(row[steps.indexOf(near)]);
}

function Notes({
  chart,
  aligned,
  isLog,
}: {
  chart: ChartPlan;
  aligned: Aligned | undefined;
  isLog: boolean;
}) {
  return (
    <div class="curves-notes">
      {chart.bands.map((band) => (
        <details key={`${band.label} ${band.says}`}>
          <summary>
            <span class="curves-band-sample" aria-hidden="true" /> healthy
            {band.label !== undefined && (
              <>
                {' '}
                <SafeText text={band.label} most={60} />
              </>
            )}
            : {boundsText(band)}{' '}
            <span class="soft">
              <SafeText text={band.source} most={120} />
            </span>
          </summary>
          <p class="soft">
            <SafeText text={band.says} />
          </p>
        </details>
      ))}
      {aligned && aligned.broken.length > 0 && (
        <p class="fail">✕ not finite at step {stepsText(aligned.broken)}</p>
      )}
      {aligned && aligned.notPositive > 0 && (
        <p class="warn">
          {wholeNumber(aligned.notPositive)} {aligned.notPositive === 1 ? 'value is' : 'values are'} 0 or
          less: not on a log scale
        </p>
      )}
      {isLog && chart.isStack && <p class="soft">a stack has no log scale</p>}
    </div>
  );
}

function boundsText({ low, high }: Band): string {
  if (low === undefined) return `at most ${shortNumber(high)}`;
  if (high === undefined) return `at least ${shortNumber(low)}`;
  return low === high ? `exactly ${shortNumber(low)}` : `${shortNumber(low)} to ${shortNumber(high)}`;
}

/** The chart in a sentence. */
function summary({ title, lines }: ChartPlan, aligned: Aligned | undefined): string {
  const parts = lines.map(({ label }, i) => {
    const finite = (aligned?.values[i] ?? []).filter((value): value is number => Number.isFinite(value));
    if (finite.length === 0) return label;
    // One at a time: a spread of very many would overflow the stack.
    const low = finite.reduce((a, b) => Math.min(a, b));
    const high = finite.reduce((a, b) => Math.max(a, b));
    return `${label} from ${shortNumber(finite[0])} to ${shortNumber(finite.at(-1))}, lowest ${shortNumber(low)}, highest ${shortNumber(high)}`;
  });
  return visible(`${title}: ${parts.join('; ')}`);
}

function pressed(event: KeyboardEvent, { steps }: Aligned, around: ChartsAround): void {
  const { cursor, span, zoom } = around;
  const inSpan = steps.filter((step) => step >= span[0] && step <= span[1]);
  const move = (by: number) => {
    const at = cursor.step === undefined ? -1 : inSpan.indexOf(nearest(inSpan, cursor.step) ?? Number.NaN);
    const to = at < 0 ? (by > 0 ? 0 : inSpan.length - 1) : at + by;
    cursor.move(inSpan[Math.min(inSpan.length - 1, Math.max(0, to))]);
  };
  const scale = (factor: number) => {
    const middle = cursor.step ?? (span[0] + span[1]) / 2;
    zoom([middle - (middle - span[0]) * factor, middle + (span[1] - middle) * factor]);
  };
  const page = Math.max(1, Math.round(inSpan.length / 10));
  const keys: Record<string, () => void> = {
    ArrowLeft: () => move(event.shiftKey ? -page : -1),
    ArrowRight: () => move(event.shiftKey ? page : 1),
    Home: () => cursor.move(inSpan[0]),
    End: () => cursor.move(inSpan.at(-1)),
    '+': () => scale(0.5),
    '-': () => scale(2),
    '0': () => zoom(undefined),
    Enter: () => around.open(),
  };
  const act = keys[event.key];
  if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  event.stopPropagation();
  act();
}
