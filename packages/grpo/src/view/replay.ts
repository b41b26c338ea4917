import type { Layer } from '../config/index.js';
import { Watch } from '../progress/watch.js';
import type { StepRecord } from '../trace/index.js';
import { type Compared, compareSteps } from './compare-steps.js';
import { NotInRecordError, replayRecord } from './replay-record.js';
import { type ChangedSetting, type ReplaySettings, replaySettings } from './replay-settings.js';

/** A recorded step, and the same rollout with other settings. */
export interface Replay {
  changed: readonly ChangedSetting[];
  settings: ReplaySettings;
  /** The step as it was recorded; terms and weights that its producer did not record follow from its settings. */
  recorded: StepRecord;
  replayed: StepRecord;
  /** The first recorded number that does not follow from the recorded settings: a replay does not tell what would have been. */
  unexplained?: Compared;
  /** What the record lacks to tell whether they do. */
  unchecked?: string;
}

/**
 * Replays a recorded step with other settings, as far as its record alone gives it.
 *
 * @throws UsageError for settings that are wrong or that a rollout has fixed; NotInRecordError where the model is needed
 */
export function replay(record: StepRecord, given: Layer, watch = new Watch()): Replay {
  const { settings, changed } = replaySettings(given, record.declared);
  const own = ownOf(record, watch);
  return { ...own, changed, settings, replayed: replayRecord(record, settings) };
}

/** The record, with what follows from it by its own settings. */
export function ownOf(
  record: StepRecord,
  watch = new Watch(),
): Pick<Replay, 'recorded' | 'unexplained' | 'unchecked'> {
  const report = (done: number) => watch.report({ stage: 'replay', done, total: 3, unit: 'passes' });
  report(0);
  const again = replayable(record);
  report(1);
  if (typeof again === 'string') return { recorded: record, unchecked: again };
  const { difference } = compareSteps(record, again);
  report(2);
  const updates = record.updates?.map((update, u) => ({ ...again.updates![u], ...update }));
  return {
    recorded: { ...record, ...(updates && { updates }) },
    ...(difference && { unexplained: difference }),
  };
}

/** The step with its own settings; as text, what its record lacks for that. */
function replayable(record: StepRecord): StepRecord | string {
  try {
    return replayRecord(record);
  } catch (error) {
    if (error instanceof NotInRecordError) return error.lack;
    throw error;
  }
}
