/** `training_args.bin`: every setting of a run of transformers' Trainer, pickled in an uncompressed zip archive. */
import { FormatError } from '../../../errors/format-error.js';
import { isObject } from '../../../formats/json.js';
import { readWhole } from '../../../formats/read-file.js';
import type { Declared } from '../../declared.js';
import type { MetricSeries } from '../../series.js';
import { meaningOf } from '../series/settings.js';
import { NotAPickle, unpickle } from './pickle.js';

const MOST_BYTES = 2 ** 20;
const LOCAL_HEADER = 0x04034b50;
const LOCAL_HEADER_BYTES = 30;

/** What the settings of TRL's GRPOTrainer tell. */
export interface TrainingArgs {
  declared: Declared;
  meaning: Partial<MetricSeries>;
  /** Whether no reward has a weight other than 1. */
  plainSum: boolean;
}

/** @throws FormatError for a file that is none; FileError */
export function readTrainingArgs(path: string): TrainingArgs {
  const args = settingsIn(path);
  const weights = args.reward_weights;
  return {
    ...meaningOf(args),
    plainSum:
      args.multi_objective_aggregation !== 'normalize_then_sum' &&
      (weights === null || (Array.isArray(weights) && weights.every((weight) => weight === 1))),
  };
}

/**
 * Whether a file holds the token of a hub, as transformers keeps one that it was given.
 *
 * @throws FormatError for a file that is none; FileError
 */
export function holdsToken(path: string): boolean {
  const { hub_token: token } = settingsIn(path);
  return token !== undefined && token !== null;
}

/** The pickle is the archive's first file; it ends by itself, so its length need not be known. */
function settingsIn(path: string): Record<string, unknown> {
  const bytes = readWhole(path, 'the training arguments', MOST_BYTES);
  try {
    const isZip = bytes.length > LOCAL_HEADER_BYTES && bytes.readUInt32LE(0) === LOCAL_HEADER;
    const begin = isZip ? LOCAL_HEADER_BYTES + bytes.readUInt16LE(26) + bytes.readUInt16LE(28) : 0;
    const settings = unpickle(bytes.subarray(begin));
    if (isObject(settings)) return settings;
    throw new NotAPickle('it holds no object');
  } catch (cause) {
    if (!(cause instanceof NotAPickle) && !(cause instanceof RangeError)) throw cause;
    throw new FormatError(path, `not a run's training arguments: ${cause.message}`, { cause });
  }
}
