import type { FindingLink, RunCurves } from 'grpo/studio';
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { useColours } from '../../parts/colours.js';
import { useKeys } from '../../parts/keys.js';
import { wholeNumber } from '../../parts/numbers.js';
import { SearchField } from '../../parts/search-field.js';
import { go, linkToPlace, type Route, setQuery } from '../../route.js';
import { Chart, type ChartsAround } from './chart.js';
import { CommonCursor } from './cursor.js';
import { layOut, type Section } from './layout.js';
import { CHART_COLOURS } from './line-style.js';
import { type Mark, marksIn, marksOf } from './marks.js';
import { type Records, recordsOf, stepToOpen } from './records.js';
import { type Span, spanOf, zoomedSpan } from './span.js';

export function Charts({
  run,
  runs,
  curves,
  links,
  query,
}: {
  run: string;
  /** All that are shown, the run of the address first. */
  runs: readonly RunCurves[];
  curves: RunCurves;
  links: readonly FindingLink[] | undefined;
  query: Route['query'];
}) {
  const isLog = query.log === '1';
  const isStack = query.time !== 'list';
  const filter = query.filter ?? '';
  const sections = useMemo(
    () =>
      layOut(
        runs.map((one) => ({ name: one.entry.name, curves: one.curves })),
        { isStack, filter },
      ),
    [runs, isStack, filter],
  );
  const marks = useMemo(() => marksOf(links ?? []), [links]);
  const records = useMemo(() => recordsOf(curves.records), [curves]);
  const whole = useMemo(() => spanOf(runs), [runs]);
  const zoomed = zoomedSpan(query, whole);
  const [from, to] = zoomed ?? whole;
  const span = useMemo<Span>(() => [from, to], [from, to]);
  const [cursor] = useState(() => new CommonCursor());
  const colours = useColours(CHART_COLOURS);
  const place = useRef<HTMLDivElement>(null);
  const around: ChartsAround = {
    run,
    colours,
    cursor,
    span,
    isZoomed: zoomed !== undefined,
    isLog,
    records,
    zoom: (to) => setQuery(to ? { from: Math.floor(to[0]), to: Math.ceil(to[1]) } : WHOLE),
    open: () => {
      const step = cursor.step === undefined ? undefined : stepToOpen(records, cursor.step, span);
      if (step !== undefined) go(linkToPlace({ run, step }));
    },
  };
  const focus = (by: number) => {
    const charts = [...place.current!.querySelectorAll<HTMLElement>('.curves-chart')];
    const at = charts.indexOf(document.activeElement as HTMLElement);
    charts[Math.min(charts.length - 1, Math.max(0, at + by))]?.focus();
  };
  useKeys({
    j: { does: 'next chart', act: () => focus(1) },
    k: { does: 'previous chart', act: () => focus(-1) },
    l: { does: 'log scale', act: () => setQuery({ log: isLog ? undefined : 1 }) },
    '0': { does: 'all steps', act: () => setQuery(WHOLE) },
    '← → Home End': { does: 'move the cursor of the chart in focus' },
    '+ −': { does: 'zoom the chart in focus' },
    Enter: { does: 'open the step at the cursor' },
  });
  const first = sections[0]?.charts[0];
  return (
    <div ref={place}>
      <div class="curves-bar">
        <button type="button" aria-pressed={isLog} onClick={() => setQuery({ log: isLog ? undefined : 1 })}>
          log scale
        </button>
        {zoomed && (
          <button type="button" onClick={() => setQuery(WHOLE)}>
            steps {wholeNumber(from)} to {wholeNumber(to)} ✕
          </button>
        )}
        <SearchField
          label="filter the charts"
          value={filter}
          onSearch={(text) => setQuery({ filter: text })}
        />
        <CursorText cursor={cursor} records={records} span={span} />
      </div>
      {sections.length === 0 && (
        <p class="soft">
          {filter === '' ? 'The run has no metrics yet.' : 'No chart has these words in its name.'}
        </p>
      )}
      {sections.map((section) => (
        <SectionOfCharts
          key={section.title}
          section={section}
          query={query}
          marksOf={(chart) => marksIn(marks, chart, chart === first)}
          around={around}
        />
      ))}
    </div>
  );
}

const WHOLE = { from: undefined, to: undefined };

function SectionOfCharts({
  section: { title, charts },
  query,
  marksOf,
  around,
}: {
  section: Section;
  query: Route['query'];
  marksOf: (chart: Section['charts'][number]) => readonly Mark[];
  around: ChartsAround;
}) {
  const grid = (
    <div class="curves-grid">
      {charts.map((chart) => (
        <MarkedChart key={chart.key} chart={chart} marks={marksOf(chart)} around={around} />
      ))}
    </div>
  );
  // Metrics that belong to no part of a step are rarely looked at.
  const isOther = title === 'Other';
  const isOpen = query.other === '1' || (query.filter ?? '') !== '';
  return isOther ? (
    <section aria-label={title}>
      <h2>
        <button
          type="button"
          class="link"
          aria-expanded={isOpen}
          onClick={() => setQuery({ other: isOpen ? undefined : 1 })}
        >
          {isOpen ? '▾' : '▸'} {title}, {charts.length === 1 ? 'one chart' : `${charts.length} charts`}
        </button>
      </h2>
      {isOpen && grid}
    </section>
  ) : (
    <section aria-label={title}>
      <h2>
        {title}
        {title === 'Time' && <StackSwitch isStack={query.time !== 'list'} />}
      </h2>
      {grid}
    </section>
  );
}

/** Keeps the same list of marks as long as they are the same: another one would be drawn again. */
function MarkedChart(props: Parameters<typeof Chart>[0]) {
  const { marks } = props;
  const kept = useMemo(() => marks, [marks.length, ...marks.slice(0, 20)]);
  return <Chart {...props} marks={kept} />;
}

const StackSwitch = ({ isStack }: { isStack: boolean }) => (
  <span class="curves-switch">
    <button type="button" aria-pressed={isStack} onClick={() => setQuery({ time: undefined })}>
      stack
    </button>
    <button type="button" aria-pressed={!isStack} onClick={() => setQuery({ time: 'list' })}>
      list
    </button>
  </span>
);

/** The step at the cursor, and the recorded step that opens from there. */
function CursorText({ cursor, records, span }: { cursor: CommonCursor; records: Records; span: Span }) {
  const place = useRef<HTMLSpanElement>(null);
  useLayoutEffect(() => {
    const write = () => {
      const { step } = cursor;
      const open = step === undefined ? undefined : stepToOpen(records, step, span);
      const isWhole = open !== undefined && records.whole.includes(open);
      const opens =
        open === undefined
          ? ''
          : `, a click or Enter opens step ${wholeNumber(open)}${isWhole ? '' : ' (texts only)'}`;
      place.current!.textContent = step === undefined ? HINT : `step ${wholeNumber(step)}${opens}`;
    };
    write();
    return cursor.listen(write);
  }, [cursor, records, span]);
  return <span ref={place} class="soft curves-cursor" />;
}

const HINT = 'drag to zoom, double click for all; on a chart ← → move, + − zoom, 0 all';
