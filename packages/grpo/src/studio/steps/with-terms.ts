import type { StepRecord } from '../../trace/index.js';
import { NotInRecordError, replayRecord } from '../../view/replay-record.js';
import type { ReplaySettings } from '../../view/replay-settings.js';
import type { LossSettings } from '../requests.js';

/**
 * The record with the terms, ratios and weights that its producer did not record and that follow from its settings. Where
 * they do not follow, the record as it is, and what it lacks.
 */
export function withTerms(record: StepRecord): { record: StepRecord; lack?: string } {
  try {
    const again = replayRecord(record);
    const updates = record.updates?.map((update, u) => ({ ...again.updates![u]!, ...update }));
    return { record: { ...record, ...(updates && { updates }) } };
  } catch (error) {
    if (!(error instanceof NotInRecordError)) throw error;
    return { record, lack: error.lack };
  }
}

/** The settings of a replay that another clip range or another β stands for; undefined where none was given. */
export function replayOf({ epsilonLow, epsilonHigh, beta }: LossSettings): ReplaySettings | undefined {
  const objective = {
    ...(epsilonLow !== undefined && { clipLow: epsilonLow }),
    ...(epsilonHigh !== undefined && { clipHigh: epsilonHigh }),
  };
  const settings = {
    ...(Object.keys(objective).length > 0 && { objective }),
    ...(beta !== undefined && { kl: { beta } }),
  };
  return Object.keys(settings).length > 0 ? settings : undefined;
}
