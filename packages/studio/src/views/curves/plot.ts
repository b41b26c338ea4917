/** A chart on a canvas: uPlot with bands, records and findings beside the lines. */
import uPlot from 'uplot';
import { visible } from '../../parts/safe-text.js';
import { SEVERITIES } from '../../parts/severity.js';
import { linkToPlace } from '../../route.js';
import { type Aligned, isolated } from './align.js';
import { drawBands, drawMarks, drawRecords, drawUnder } from './decorations.js';
import type { ChartPlan } from './layout.js';
import { type Colours, colourName, dashOf } from './line-style.js';
import type { Mark } from './marks.js';
import type { Records } from './records.js';
import type { Span } from './span.js';

/** The numbers of a plot; all but the number and style of its lines may change while it lives. */
export interface PlotContent {
  run: string;
  chart: ChartPlan;
  aligned: Aligned;
  /** Steps that are in sight. */
  span: Span;
  marks: readonly Mark[];
  records: Records;
}

export interface PlotEvents {
  /** The step that is pointed at. */
  point(step: number | undefined): void;
  zoom(span: Span): void;
  reset(): void;
  open(): void;
}

/** Pixels within which a press is a click and no drag. */
const CLICK_PIXELS = 4;
/** A second click within this time makes a double click. */
const DOUBLE_CLICK_MS = 260;

export class Plot {
  readonly #plot: uPlot;
  readonly #marks: HTMLElement;
  #isOwnMove = false;
  /** A click that may become a double click. */
  #click: ReturnType<typeof setTimeout> | undefined;

  constructor(
    place: HTMLElement,
    private content: PlotContent,
    private readonly look: { colours: Colours; isLog: boolean; width: number; height: number },
    private readonly events: PlotEvents,
    private readonly isZoomed: () => boolean,
  ) {
    this.#marks = document.createElement('div');
    this.#marks.className = 'curves-marks';
    this.#plot = new uPlot(this.#options(), dataOf(content), place);
    this.#plot.over.append(this.#marks);
    this.#hearClicks(this.#plot.over);
    this.#placeMarks();
  }

  /** Shows other numbers of the same lines. */
  update(content: PlotContent): void {
    const isSame = content.aligned === this.content.aligned && content.chart === this.content.chart;
    this.content = content;
    if (isSame) this.#plot.setScale('x', { min: content.span[0], max: content.span[1] });
    else this.#plot.setData(dataOf(content), true);
    this.#plot.redraw(false);
    this.#placeMarks();
  }

  resize(width: number): void {
    if (width !== this.#plot.width) this.#plot.setSize({ width, height: this.look.height });
    this.#placeMarks();
  }

  /** Points at a step, wherever the mouse is. */
  point(step: number | undefined): void {
    if (this.#isOwnMove) return;
    const left = step === undefined ? -10 : this.#plot.valToPos(step, 'x');
    this.#plot.setCursor({ left, top: -10 }, false);
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#click);
    this.#plot.destroy();
  }

  #options(): uPlot.Options {
    const { colours, isLog, width, height } = this.look;
    const { chart } = this.content;
    const axis: uPlot.Axis = {
      stroke: colours.soft,
      grid: { stroke: colours.line, width: 0.5 },
      ticks: { stroke: colours.line, width: 0.5, size: 4 },
      font: '11px system-ui, sans-serif',
      labelSize: 12,
    };
    return {
      width,
      height,
      scales: {
        x: { time: false, range: () => [...this.content.span] },
        y: { distr: isLog && !chart.isStack ? 3 : 1, range: (_, low, high) => this.#heights(low, high) },
      },
      axes: [
        { ...axis, size: 24, space: 60, incrs: STEP_INCREMENTS },
        { ...axis, size: 56, space: 26, values: (_, ticks) => ticks.map(tickText) },
      ],
      series: [{}, ...chart.lines.map((_, i) => this.#series(i))],
      ...(chart.isStack && { bands: chart.lines.slice(1).map((_, i) => ({ series: [i + 2, i + 1] })) }),
      legend: { show: false },
      cursor: {
        y: false,
        points: { size: 7 },
        // Pixels tell a click from a drag, not steps.
        drag: { x: true, y: false, setScale: false, dist: CLICK_PIXELS, click: () => undefined },
        move: (plot, left, top) => [this.#snapped(plot, left), top],
        bind: {
          dblclick: () => () => {
            this.events.reset();
            return null;
          },
        },
      },
      padding: [10, 20, 0, 0],
      hooks: {
        drawClear: [(plot) => drawUnder(plot, colours)],
        drawAxes: [(plot) => drawBands(plot, this.content.chart, colours)],
        draw: [
          (plot) => {
            drawRecords(plot, this.content.records, colours);
            drawMarks(plot, this.content, colours);
          },
        ],
        setSelect: [(plot) => this.#select(plot)],
        setCursor: [(plot) => this.#moved(plot)],
      },
    };
  }

  #series(i: number): uPlot.Series {
    const { colours } = this.look;
    const line = this.content.chart.lines[i]!;
    const stroke = colours[colourName(line.style)];
    const marks = {
      paths: () => null,
      points: { show: true, size: 9, width: 2, fill: colours.ground, stroke },
    };
    return {
      stroke,
      width: 1.5,
      dash: dashOf(line.style),
      ...(this.content.chart.isStack && { fill: transparent(stroke!) }),
      points: { size: 5, fill: stroke, filter: (_, __, show) => this.#lonely(i, show) },
      ...(line.isMarks && marks),
    };
  }

  /** Points beside gaps are shown, since no line reaches them. */
  #lonely(i: number, show: boolean | undefined): number[] | null {
    return show ? null : isolated(this.content.aligned.heights[i]!);
  }

  #heights(low: number | null, high: number | null): uPlot.Range.MinMax {
    const { chart } = this.content;
    const isLog = this.look.isLog && !chart.isStack;
    if (low === null || high === null) return isLog ? [0.1, 1] : [0, 1];
    if (isLog) return uPlot.rangeLog(low, high === low ? low * 10 : high, 10, false);
    // A bound is shown where it is about as far away as the values are from each other.
    const reach = high - low || Math.abs(high) / 10;
    const edges = chart.bands.flatMap((band) => [band.low, band.high]);
    const near = edges.filter((edge) => edge !== undefined && edge >= low - reach && edge <= high + reach);
    const [from, to] = [Math.min(low, ...(near as number[])), Math.max(high, ...(near as number[]))];
    if (from === to) return from === 0 ? [-1, 1] : [from - Math.abs(from) / 10, from + Math.abs(from) / 10];
    return uPlot.rangeNum(chart.isStack ? 0 : from, to, 0.1, true);
  }

  #snapped(plot: uPlot, left: number): number {
    if (left < 0 || plot.data[0].length === 0) return left;
    return plot.valToPos(plot.data[0][plot.posToIdx(left)]!, 'x');
  }

  #select(plot: uPlot): void {
    const { left, width } = plot.select;
    if (width < CLICK_PIXELS) return;
    this.events.zoom([plot.posToVal(left, 'x'), plot.posToVal(left + width, 'x')]);
    plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  }

  #moved(plot: uPlot): void {
    const { left = -10, idx } = plot.cursor;
    this.#isOwnMove = true;
    this.events.point(left < 0 || idx == null ? undefined : plot.data[0][idx]);
    this.#isOwnMove = false;
  }

  #hearClicks(over: HTMLElement): void {
    let down = 0;
    over.addEventListener('mousedown', ({ clientX }) => {
      down = clientX;
    });
    over.addEventListener('click', ({ clientX, detail }) => {
      clearTimeout(this.#click);
      if (Math.abs(clientX - down) >= CLICK_PIXELS || detail > 1) return;
      // Only where a double click has an effect a click waits for it.
      if (this.isZoomed()) this.#click = setTimeout(() => this.events.open(), DOUBLE_CLICK_MS);
      else this.events.open();
    });
  }

  /** Links at the top of the lines that findings are marked by. */
  #placeMarks(): void {
    const { marks, run, span } = this.content;
    const rows: number[] = [];
    const links = marks
      .filter(({ step }) => step >= span[0] && step <= span[1])
      .map((mark) => {
        const link = document.createElement('a');
        link.href = linkToPlace({ run, view: 'findings' }, { code: mark.code });
        link.className = `curves-mark ${mark.severity}`;
        link.textContent = SEVERITIES[mark.severity].sign;
        link.title = visible(`step ${mark.step}: ${mark.label}. ${mark.says}`);
        // All of them stand in the list above the charts, which is reached by keys.
        link.tabIndex = -1;
        const left = this.#plot.valToPos(mark.step, 'x');
        const row = rows.filter((other) => Math.abs(other - left) < 16).length;
        rows.push(left);
        link.style.transform = `translate(${left - 8}px, ${row * 18}px)`;
        link.addEventListener('mousedown', (event) => event.stopPropagation());
        link.addEventListener('click', (event) => event.stopPropagation());
        return link;
      });
    this.#marks.replaceChildren(...links);
  }
}

const dataOf = ({ aligned }: PlotContent): uPlot.AlignedData => [
  aligned.steps,
  ...(aligned.heights as (number | null | undefined)[][]),
];

/** Whole steps only. */
const STEP_INCREMENTS = [1, 2, 5]
  .flatMap((one) => Array.from({ length: 9 }, (_, i) => one * 10 ** i))
  .sort((a, b) => a - b);

/** Few digits: the readout has more. */
function tickText(tick: number | null): string {
  if (tick === null) return '';
  const size = Math.abs(tick);
  return size !== 0 && (size >= 1e5 || size < 1e-3)
    ? tick.toExponential().replace('e+', 'e')
    : String(Number(tick.toPrecision(6)));
}

/** A colour as the style sheet gives it, `rgb(…)`, nearly without weight. */
const transparent = (colour: string) => colour.replace(/^rgb\((.*)\)$/, 'rgba($1, 0.35)');
