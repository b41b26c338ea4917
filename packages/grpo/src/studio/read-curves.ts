import { LogView } from '../doctor/log-view.js';
import type { MetricSeries } from '../trace/index.js';
import type { Reading } from '../trace/readers/index.js';
import { bandsOf } from './bands.js';
import { groupOf, unitOf } from './curve-groups.js';
import type { OpenRuns } from './open-runs.js';
import { type Band, CURVE_GROUPS, type Curve, type RunCurves, type StepEntry } from './requests.js';
import { entryOf } from './run-entry.js';

/** Answers `curves`: every metric of a run's log, and which steps have records. */
export async function readCurves(runs: OpenRuns, { run }: { run: string }): Promise<RunCurves> {
  const reading = await runs.reading(run);
  const { series, declared, isGrpo, notes } = reading;
  const bands = series && isGrpo ? bandsOf(new LogView(series, declared)) : new Map<string, Band>();
  return {
    entry: entryOf(runs, run, reading),
    curves: series ? curvesOf(series, bands) : [],
    records: runs.once('steps with records', run, () => recordsOf(runs, run, reading)),
    notes,
  };
}

function curvesOf({ entries }: MetricSeries, bands: ReadonlyMap<string, Band>): Curve[] {
  const points = new Map<string, { steps: number[]; values: number[] }>();
  for (const { step, values } of entries) {
    for (const [name, value] of Object.entries(values)) {
      const curve = points.get(name) ?? { steps: [], values: [] };
      points.set(name, curve);
      curve.steps.push(step);
      curve.values.push(value);
    }
  }
  const curves = [...points].map(([name, { steps, values }]): Curve => {
    const [unit, band] = [unitOf(name), bands.get(name)];
    return {
      name,
      group: groupOf(name),
      steps: Float64Array.from(steps),
      values: Float64Array.from(values),
      ...(unit !== undefined && { unit }),
      ...(band && { band }),
    };
  });
  return CURVE_GROUPS.flatMap((group) => curves.filter((curve) => curve.group === group));
}

/** A record is whole where it has a folder; of other steps there are texts and rewards. */
function recordsOf(runs: OpenRuns, run: string, { series, records, textRecord }: Reading): StepEntry[] {
  const whole = runs.stepFolders(run);
  const steps = new Set(whole.keys());
  // A run of ours writes the completions of every step; other files must be read to tell.
  if (textRecord) for (const { step, values } of series?.entries ?? []) 'reward' in values && steps.add(step);
  else if (whole.size === 0) for (const { step } of records ?? []) steps.add(step);
  return [...steps].sort((a, b) => a - b).map((step) => ({ step, isWhole: whole.has(step) }));
}
