/** Findings as marks of the charts that they are about. */
import type { FindingLink } from 'grpo/studio';
import type { ChartPlan } from './layout.js';

export interface Mark {
  /** The step at which the finding begins. */
  step: number;
  code: string;
  severity: FindingLink['finding']['severity'];
  label: string;
  says: string;
  /** Metrics that the finding cites. */
  metrics: readonly string[];
}

/** The findings that begin at a step, the first one first. */
export function marksOf(links: readonly FindingLink[]): readonly Mark[] {
  return links
    .flatMap(({ finding: { code, severity, steps }, label, says, places }) => {
      const step = steps[0] ?? places.find((place) => place.step !== undefined)?.step;
      const metrics = places.flatMap(({ metric }) => metric ?? []);
      return step === undefined ? [] : [{ step, code, severity, label, says, metrics }];
    })
    .sort((a, b) => a.step - b.step);
}

/** The marks of a chart: those that cite one of its metrics; the first chart has all. */
export function marksIn(marks: readonly Mark[], chart: ChartPlan, isFirst: boolean): readonly Mark[] {
  const names = new Set(chart.lines.map(({ curve }) => curve.name));
  return isFirst ? marks : marks.filter(({ metrics }) => metrics.some((metric) => names.has(metric)));
}
