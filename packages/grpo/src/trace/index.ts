/** The step record and the metric series: what a run wrote down, without a tensor engine. */
export { offsetsOf, rowsOf } from './arrays.js';
export {
  type AuditRecord,
  CHANCE_NATS,
  type Comparison,
  ENTROPY_SHARE,
  FIRST_TOKEN,
  HAND_OVERS,
  type HandOver,
  HELD_TENSOR,
  LEFT_WEIGHT,
  LIKELIHOOD,
} from './audit.js';
export { AGAIN, CANARY, PART, TOTAL } from './canary-kinds.js';
export type { Declared, DeclaredSection, TextChange } from './declared.js';
export { type DiffusionRecord, type RecordedView, viewsOf } from './diffusion.js';
export { ownSeries } from './own-series.js';
export type { Difference, Probes } from './probes.js';
export { readStepRecord, type Stored } from './read.js';
export { readCompletions } from './read-completions.js';
export { RECORD_VERSION, type StepRecord, type UpdateRecord } from './record.js';
export type { MetricSeries, MetricsEntry } from './series.js';
export type { ServerRecord, WeightProbe } from './servers.js';
export { supportRecordOf, supportsOf } from './support.js';
export { TEXT_LISTS } from './texts.js';
export { writeStepRecord } from './write.js';
