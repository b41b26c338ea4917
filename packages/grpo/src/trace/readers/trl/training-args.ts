/** `training_args.bin`: every setting of a run of transformers' Trainer, pickled in an uncompressed zip archive. */
import { RATIO_LEVELS, SCALES, type Scale } from '../../../config/choices.js';
import { FormatError } from '../../../errors/format-error.js';
import { isObject } from '../../../formats/json.js';
import { readWhole } from '../../../formats/read-file.js';
import type { Declared } from '../../declared.js';
import type { MetricSeries, Setting } from '../../series.js';
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
  const bytes = readWhole(path, 'the training arguments', MOST_BYTES);
  const args = settingsIn(path, bytes);
  const value = reader(args);
  const steps = value.number('logging_steps');
  const weights = args.reward_weights;
  return {
    declared: declaredOf(value, args),
    meaning: {
      settings: plainSettings(args),
      ...(steps !== undefined &&
        steps >= 1 &&
        value.text('logging_strategy') === 'steps' && { stepsPerEntry: steps }),
      ...present({ hidesNotFinite: value.flag('logging_nan_inf_filter') }),
    },
    plainSum:
      args.multi_objective_aggregation !== 'normalize_then_sum' &&
      (weights === null || (Array.isArray(weights) && weights.every((weight) => weight === 1))),
  };
}

/** Those of the settings that are numbers, texts or flags. */
const plainSettings = (args: Record<string, unknown>) =>
  Object.fromEntries(
    Object.entries(args).filter(
      (pair): pair is [string, Setting] =>
        pair[1] === null || /^(string|number|boolean)$/.test(typeof pair[1]),
    ),
  );

/** The pickle is the archive's first file; it ends by itself, so its length need not be known. */
function settingsIn(path: string, bytes: Buffer): Record<string, unknown> {
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

type Reader = ReturnType<typeof reader>;

function reader(args: Record<string, unknown>) {
  const get = (name: string) => (Object.hasOwn(args, name) ? args[name] : undefined);
  return {
    number: (name: string) => pick(get(name), (value) => typeof value === 'number'),
    text: (name: string) => pick(get(name), (value) => typeof value === 'string'),
    flag: (name: string) => pick(get(name), (value) => typeof value === 'boolean'),
  };
}

const pick = <T>(value: unknown, is: (value: unknown) => value is T): T | undefined =>
  is(value) ? value : undefined;

function declaredOf({ number, text, flag }: Reader, args: Record<string, unknown>): Declared {
  const loss = text('loss_type');
  const beta = number('beta');
  const weights = args.reward_weights;
  // Elsewhere these bounds are of another kind, or not used.
  const clips = loss !== undefined && /^(grpo|bnpo|dr_grpo|dapo|luspo)$/.test(loss);
  return present({
    rollout: present({
      group: number('num_generations'),
      maxNewTokens: number('max_completion_length'),
      temperature: number('temperature'),
      topP: number('top_p'),
      topK: number('top_k') ?? (args.top_k === null ? 0 : undefined),
      minP: number('min_p') ?? (args.min_p === null ? 0 : undefined),
      repetitionPenalty: number('repetition_penalty'),
    }),
    objective: present({
      loss,
      ratio: oneOf(RATIO_LEVELS, text('importance_sampling_level')),
      ...(clips && {
        clipLow: number('epsilon'),
        clipHigh: number('epsilon_high') ?? number('epsilon'),
      }),
      maskTruncated: flag('mask_truncated_completions'),
    }),
    advantage: present({ scale: scaleOf(args), ...(loss !== undefined && { epsilon: 1e-4, ddof: 1 }) }),
    kl: present({ beta, ...(beta !== undefined && beta > 0 && { estimator: 'k3' as const }) }),
    entropy: present({ coefficient: number('entropy_coef') }),
    optimizer: present({
      learningRate: number('learning_rate'),
      maxGradNorm: number('max_grad_norm'),
      weightDecay: number('weight_decay'),
    }),
    maxPromptTokens: number('max_prompt_length'),
    updatesPerRollout: updatesPerRollout(number),
    ...(Array.isArray(weights) &&
      weights.every((one) => typeof one === 'number') && { rewardWeights: weights }),
  });
}

function scaleOf({ scale_rewards: scale }: Record<string, unknown>): Scale | undefined {
  if (scale === true) return 'group';
  return scale === false ? 'none' : oneOf(SCALES, scale);
}

const oneOf = <T>(choices: readonly T[], value: unknown): T | undefined =>
  choices.find((choice) => choice === value);

/** Optimizer steps until completions are sampled anew. */
function updatesPerRollout(number: Reader['number']): number | undefined {
  const iterations = number('num_iterations');
  const accumulated = number('gradient_accumulation_steps');
  if (iterations === undefined || accumulated === undefined) return undefined;
  const microSteps = number('steps_per_generation') ?? accumulated;
  return Math.max(1, (iterations * microSteps) / accumulated);
}

/** Without what is undefined. */
function present<T extends object>(fields: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]: Exclude<T[K], undefined>;
  };
}
