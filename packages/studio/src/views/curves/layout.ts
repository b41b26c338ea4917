/** Which curves stand in which chart, and the charts in which section. */
import type { Band, Curve, RunCurves } from 'grpo/studio';

/** A curve as it is drawn. */
export interface Line {
  /** Its name among the lines of its chart. */
  label: string;
  curve: Curve;
  /** Which of the styles it is drawn in. */
  style: number;
  /** Drawn as marks: evaluations, which are few. */
  isMarks: boolean;
}

export interface ChartPlan {
  /** Unique on the page, and the same when the files have grown. */
  key: string;
  title: string;
  lines: readonly Line[];
  unit?: string;
  bands: readonly (Band & { label?: string })[];
  /** Whether each line stands on the one before. */
  isStack: boolean;
}

export interface Section {
  title: string;
  charts: readonly ChartPlan[];
}

/** Curves that are read together share a chart; each is labelled by its part of the name. */
interface Family {
  title: string;
  names: RegExp;
  /** Shows a group of the expression where it has one. */
  isStack?: true;
}

/** In the order in which they are shown. The part of a name that differs is the group of the expression. */
const FAMILIES: readonly Family[] = [
  { title: 'reward', names: /^reward$/ },
  { title: 'spread of the rewards', names: /^reward_std$/ },
  { title: 'groups of equal rewards', names: /^frac_reward_zero_std(?:_(expected))?$/ },
  { title: 'rewards that failed', names: /^reward_failures$/ },
  { title: 'reward parts', names: /^rewards\/(.+)\/mean$/ },
  { title: 'spread of the reward parts', names: /^rewards\/(.+)\/std$/ },
  { title: 'completion length', names: /^completions\/(mean|min|max)_length$/ },
  { title: 'length of completions that ended', names: /^completions\/(mean|min|max)_terminated_length$/ },
  { title: 'completions cut off', names: /^completions\/clipped_ratio$/ },
  { title: 'tokens so far', names: /^num_tokens$/ },
  { title: 'KL to the reference', names: /^kl$/ },
  { title: 'entropy', names: /^entropy$/ },
  { title: 'tokens outside of the clip range', names: /^clip_ratio\/(.+)$/ },
  {
    title: 'gap between sampler and trainer, mean',
    names: /^sampling\/sampling_logp_difference\/mean$/,
  },
  { title: 'gap between sampler and trainer, largest', names: /^sampling\/sampling_logp_difference\/max$/ },
  { title: 'importance sampling ratio', names: /^sampling\/importance_sampling_ratio\/(.+)$/ },
  { title: 'gradient norm', names: /^grad_norm$/ },
  { title: 'loss', names: /^loss$/ },
  { title: 'learning rate', names: /^learning_rate$/ },
  // Stages of ours follow each other: their times add up.
  { title: 'time per stage', names: /^seconds\/(.+)$/, isStack: true },
  { title: 'time per step', names: /^step_time$/ },
];

const SECTIONS: readonly (readonly [title: string, group: Curve['group']])[] = [
  ['Reward', 'reward'],
  ['Reward parts', 'reward parts'],
  ['Lengths and cut-offs', 'length'],
  ['Policy: KL, entropy, clip, gap', 'policy'],
  ['Gradient', 'gradient'],
  ['Time', 'time'],
  ['Evaluation', 'evaluation'],
  ['Other', 'other'],
];

const MOST_LINES = 8;
const EVALUATION = /^eval_/;

/** A place in the page: its section, and there its turn. */
interface Place {
  family: Family | undefined;
  title: string;
  label: string;
  /** Charts of one key are one. */
  key: string;
}

function placeOf({ name }: Curve): Place {
  for (const family of FAMILIES) {
    const match = family.names.exec(name);
    if (match) return { family, title: family.title, label: match[1] ?? name, key: family.title };
  }
  return { family: undefined, title: name, label: name, key: name };
}

export interface LayoutOptions {
  /** Whether times of stages stand on each other. */
  isStack: boolean;
  /** Words that the title or a name of a chart must have. */
  filter: string;
}

/**
 * The charts of one run, or of several that are laid over each other: then each metric has its own chart, with a line a
 * run.
 */
export function layOut(
  runs: readonly (Pick<RunCurves, 'curves'> & { name: string })[],
  { isStack, filter }: LayoutOptions,
): readonly Section[] {
  const charts = runs.length === 1 ? chartsOf(runs[0]!.curves, isStack) : overlaid(runs);
  const words = filter.toLowerCase().split(/\s+/);
  const isShown = ({ chart }: Placed) => {
    const text = [chart.title, ...chart.lines.map(({ curve }) => curve.name)].join(' ').toLowerCase();
    return words.every((word) => text.includes(word));
  };
  return SECTIONS.map(([title, group]) => ({
    title,
    charts: charts
      .filter((placed) => placed.group === group && isShown(placed))
      .sort((a, b) => a.turn - b.turn)
      .map(({ chart }) => chart),
  })).filter((section) => section.charts.length > 0);
}

interface Placed {
  group: Curve['group'];
  turn: number;
  chart: ChartPlan;
}

const turnOf = (family: Family | undefined) => (family ? FAMILIES.indexOf(family) : FAMILIES.length);

function chartsOf(curves: readonly Curve[], isStack: boolean): Placed[] {
  const names = new Set(curves.map(({ name }) => name));
  const found = new Map<string, { place: Place; group: Curve['group']; lines: Omit<Line, 'style'>[] }>();
  for (const curve of curves) {
    // An evaluation's value of a metric that each step has is a mark in the metric's chart.
    const trained = curve.name.replace(EVALUATION, '');
    const isMarks = trained !== curve.name && names.has(trained);
    const own = placeOf(isMarks ? { ...curve, name: trained } : curve);
    const isAlone = own.family?.isStack && !isStack;
    const key = isAlone ? curve.name : own.key;
    const place = isAlone ? { ...own, title: `${own.title}: ${own.label}` } : own;
    const label = isMarks ? `${own.label}, evaluated` : own.label;
    const group = isMarks ? curves.find(({ name }) => name === trained)!.group : curve.group;
    const chart = found.get(key) ?? { place, group, lines: [] };
    chart.lines.push({ label, curve, isMarks });
    found.set(key, chart);
  }
  return [...found].flatMap(([key, { place, group, lines }]) => {
    const isStacked = isStack && place.family?.isStack === true && lines.length > 1;
    return inParts(lines, isStacked ? lines.length : MOST_LINES).map((part, i) => ({
      group,
      turn: turnOf(place.family),
      chart: chart(i === 0 ? key : `${key} ${i + 1}`, place.title, part, isStacked),
    }));
  });
}

function overlaid(runs: readonly (Pick<RunCurves, 'curves'> & { name: string })[]): Placed[] {
  const found = new Map<string, { place: Place; group: Curve['group']; lines: Line[] }>();
  for (const [style, { name, curves }] of runs.entries())
    for (const curve of curves) {
      const place = placeOf(curve);
      const chart = found.get(curve.name) ?? { place, group: curve.group, lines: [] };
      chart.lines.push({ label: name, curve, style, isMarks: EVALUATION.test(curve.name) });
      found.set(curve.name, chart);
    }
  return [...found].map(([key, { place, group, lines }]) => {
    const isPart = place.family !== undefined && place.label !== key;
    const title = isPart ? `${place.title}: ${place.label}` : place.title;
    return { group, turn: turnOf(place.family), chart: chartWith(key, title, lines, false) };
  });
}

/** Marks are drawn last, and look like the line of the same metric. */
function chart(
  key: string,
  title: string,
  lines: readonly Omit<Line, 'style'>[],
  isStack: boolean,
): ChartPlan {
  const drawn = lines.filter(({ isMarks }) => !isMarks);
  const names = drawn.map(({ curve }) => curve.name);
  const styleOf = ({ curve, isMarks }: Omit<Line, 'style'>) =>
    names.indexOf(isMarks ? curve.name.replace(EVALUATION, '') : curve.name);
  const sorted = [...drawn, ...lines.filter(({ isMarks }) => isMarks)];
  return chartWith(
    key,
    title,
    sorted.map((line) => ({ ...line, style: Math.max(0, styleOf(line)) })),
    isStack,
  );
}

function chartWith(key: string, title: string, lines: readonly Line[], isStack: boolean): ChartPlan {
  const units = new Set(lines.map(({ curve }) => curve.unit));
  const [unit] = units;
  // A bound may follow from the run, as from the length that it began with.
  const bands = new Map(
    lines.flatMap(({ label, curve: { band } }) => {
      if (!band) return [];
      return [[JSON.stringify(band), lines.length > 1 ? { ...band, label } : band] as const];
    }),
  );
  return {
    key,
    title,
    lines,
    ...(units.size === 1 && unit !== undefined && { unit }),
    bands: [...bands.values()],
    isStack,
  };
}

function inParts<T>(list: readonly T[], most: number): T[][] {
  const count = Math.ceil(list.length / most);
  return Array.from({ length: count }, (_, i) => list.slice(i * most, (i + 1) * most));
}
