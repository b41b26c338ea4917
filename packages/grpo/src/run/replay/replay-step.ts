import type { Layer } from '../../config/index.js';
import { Watch } from '../../progress/watch.js';
import type { StepRecord, UpdateRecord } from '../../trace/index.js';
import { ownOf, type Replay } from '../../view/replay.js';
import { NotInRecordError, replayRecord } from '../../view/replay-record.js';
import { replaySettings } from '../../view/replay-settings.js';
import { type ModelReplay, replayWithModel } from './replay-model.js';
import { findWeights } from './step-weights.js';

/** A replayed step, with what its weights give where they are there. */
export interface ReplayedStep extends Replay {
  /** The weights' part; as text, why it is missing. */
  model: ModelReplay | string;
}

/**
 * Replays a recorded step with other settings. Where the run has the weights that took it, it is scored and differentiated
 * anew with these; otherwise what follows from the record is computed, and `model` says why the rest is missing.
 *
 * @param path - of the run or the record
 * @param completion - the place of the one whose boundary rows are wanted
 * @throws UsageError for settings that are wrong; NotInRecordError for those that need weights that are not there
 */
export async function replayStep(
  path: string,
  record: StepRecord,
  given: Layer,
  { completion = 0, watch = new Watch() }: { completion?: number; watch?: Watch } = {},
): Promise<ReplayedStep> {
  const { settings, changed } = replaySettings(given, record.declared);
  const weights = findWeights(path, record, settings);
  const model =
    typeof weights === 'string' ? weights : await replayWithModel(record, weights, completion, watch);
  return {
    ...ownOf(record, watch),
    settings,
    changed,
    model,
    replayed:
      typeof model === 'string'
        ? withoutModel(record, settings, model)
        : { ...model.record, updates: [model.record.updates![0]!, ...laterUpdates(record, settings)] },
  };
}

function withoutModel(record: StepRecord, settings: Replay['settings'], why: string): StepRecord {
  try {
    return replayRecord(record, settings);
  } catch (error) {
    if (!(error instanceof NotInRecordError)) throw error;
    throw new NotInRecordError(error.lack, why);
  }
}

/**
 * The updates after the first: by the log-probs that were recorded with the weights that these had made; none where the
 * record alone does not give them.
 */
function laterUpdates(record: StepRecord, settings: Replay['settings']): UpdateRecord[] {
  try {
    return replayRecord(record, settings).updates?.slice(1) ?? [];
  } catch (error) {
    if (error instanceof NotInRecordError) return [];
    throw error;
  }
}
