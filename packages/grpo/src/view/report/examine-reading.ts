/** From what a reader found at a path to the doctor's diagnosis. */
import { type Diagnosis, examine } from '../../doctor/examine.js';
import { registry } from '../../doctor/registry.js';
import { Watch } from '../../progress/watch.js';
import type { MetricSeries } from '../../trace/index.js';
import { isEvaluation, type Reading } from '../../trace/readers/index.js';
import type { ExaminedReading } from './examined.js';

/** Judges one run with all checks. */
export function examineReading(
  path: string,
  reading: Reading,
  watch = new Watch(),
): { examined: ExaminedReading; diagnosis: Diagnosis } {
  const { kind, files, records, series, declared, broken, notes, isGrpo, crash } = reading;
  // The checks of GRPO do not hold for other training.
  const material = isGrpo
    ? { ...(records && { records }), ...(series && { series }), ...(declared && { declared }) }
    : {};
  const diagnosis = examine(material, registry, watch);
  const entries = entriesOf(series?.entries);
  return {
    examined: { path, kind, files, records: diagnosis.records, entries, broken, notes, isGrpo, crash },
    diagnosis,
  };
}

/** An evaluation alone, such as that before training, is no entry of a log that has others. */
function entriesOf(entries: MetricSeries['entries'] = []): number {
  return entries.filter(({ values }) => !isEvaluation(values)).length || entries.length;
}
