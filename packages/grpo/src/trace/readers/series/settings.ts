/** Settings of a run in the names that its trainer gives them, and what they declare. */

import { RATIO_LEVELS, SCALES, type Scale } from '../../../config/choices.js';
import { TRL_NAMES } from '../../../config/other-names.js';
import { isObject } from '../../../formats/json.js';
import { known } from '../../../formats/known.js';
import type { Declared } from '../../declared.js';
import type { MetricSeries } from '../../series.js';
import { numberOf } from '../rows/metric-row.js';
import type { Hints } from './hints.js';

/** A setting as the log or the file beside it has it. */
export type Setting = string | number | boolean | null;

const MOST_SETTINGS = 2000;
const MOST_CHARACTERS = 500;

/** Numbers, texts and flags of settings of any nesting, their names joined by dots. */
export function flatSettings(
  settings: Readonly<Record<string, unknown>>,
  prefix = '',
  into: Record<string, Setting> = {},
): Record<string, Setting> {
  for (const [key, value] of Object.entries(settings)) {
    if (Object.keys(into).length >= MOST_SETTINGS) break;
    if (isObject(value)) flatSettings(value, `${prefix}${key}.`, into);
    else if (typeof value === 'string') into[prefix + key] = value.slice(0, MOST_CHARACTERS);
    else if (value === null || typeof value === 'number' || typeof value === 'boolean')
      into[prefix + key] = value;
  }
  return into;
}

/** What settings tell of the series, and what they declare. */
export function settingsMeaning(settings: Readonly<Record<string, Setting>>): Hints {
  if (Object.keys(settings).length === 0) return {};
  return meaningOf({ ...trlNames(settings), ...settings });
}

/** The same where all of TRL's settings are known, lists among them. */
export function meaningOf(
  args: Readonly<Record<string, unknown>>,
): Hints & { meaning: Partial<MetricSeries>; declared: Declared } {
  const value = reader(args);
  const steps = value.number('logging_steps');
  const last = value.number('max_steps');
  return {
    declared: declaredOf(value, args),
    meaning: {
      ...(steps !== undefined &&
        steps >= 1 &&
        (value.text('logging_strategy') ?? 'steps') === 'steps' && { stepsPerEntry: steps }),
      ...(last !== undefined && last > 0 && { lastStep: last }),
    },
  };
}

/** Settings of other trainers under TRL's names. */
function trlNames(settings: Readonly<Record<string, Setting>>): Record<string, Setting> {
  const named = Object.entries(TRL_NAMES).flatMap(([name, others]) => {
    const found = others.find((other) => Object.hasOwn(settings, other));
    return found === undefined ? [] : [[name, settings[found]!] as const];
  });
  const all: Record<string, Setting> = Object.fromEntries(named);
  // verl has a coefficient that only counts where the loss has the term.
  if (settings['actor_rollout_ref.actor.use_kl_loss'] === true)
    all.beta ??= settings['actor_rollout_ref.actor.kl_loss_coef'] ?? null;
  return all;
}

type Reader = ReturnType<typeof reader>;

function reader(args: Readonly<Record<string, unknown>>) {
  const get = (name: string) => (Object.hasOwn(args, name) ? args[name] : undefined);
  return {
    // A command line has its numbers as texts.
    number: (name: string) => numberOf(get(name)),
    text: (name: string) => pick(get(name), (value) => typeof value === 'string'),
    flag: (name: string) => pick(get(name), (value) => typeof value === 'boolean'),
  };
}

const pick = <T>(value: unknown, is: (value: unknown) => value is T): T | undefined =>
  is(value) ? value : undefined;

function declaredOf({ number, text, flag }: Reader, args: Readonly<Record<string, unknown>>): Declared {
  const loss = text('loss_type');
  const beta = number('beta');
  const weights = args.reward_weights;
  // Elsewhere these bounds are of another kind, or not used.
  const clips = loss !== undefined && /^(grpo|bnpo|dr_grpo|dapo|luspo)$/.test(loss);
  return known({
    rollout: known({
      group: number('num_generations'),
      maxNewTokens: number('max_completion_length'),
      temperature: number('temperature'),
      topP: number('top_p'),
      // Engines turn it off with −1.
      topK: args.top_k === null ? 0 : atLeast0(number('top_k')),
      minP: number('min_p') ?? (args.min_p === null ? 0 : undefined),
      repetitionPenalty: number('repetition_penalty'),
    }),
    objective: known({
      loss,
      ratio: oneOf(RATIO_LEVELS, text('importance_sampling_level')),
      ...(clips && {
        clipLow: number('epsilon'),
        clipHigh: number('epsilon_high') ?? number('epsilon'),
      }),
      maskTruncated: flag('mask_truncated_completions'),
    }),
    advantage: known({ scale: scaleOf(args), ...(loss !== undefined && { epsilon: 1e-4, ddof: 1 }) }),
    kl: known({ beta, ...(beta !== undefined && beta > 0 && { estimator: 'k3' as const }) }),
    entropy: known({ coefficient: number('entropy_coef') }),
    optimizer: known({
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

function scaleOf({ scale_rewards: scale }: Readonly<Record<string, unknown>>): Scale | undefined {
  if (scale === true) return 'group';
  return scale === false ? 'none' : oneOf(SCALES, scale);
}

const atLeast0 = (value: number | undefined) => (value === undefined ? undefined : Math.max(0, value));

const oneOf = <T>(choices: readonly T[], value: unknown): T | undefined =>
  choices.find((choice) => choice === value);

/** Settings that scripts log as metrics. */
const IN_ROWS = ['updates_per_rollout', 'num_generations', 'group_size', 'temperature'];

/** Settings among metrics: numbers of such names that never change. */
export function settingsIn(entries: MetricSeries['entries']): Record<string, Setting> {
  const constant = IN_ROWS.flatMap((name) => {
    const all = new Set(entries.flatMap(({ values }) => values[name] ?? []));
    return all.size === 1 ? [[name, [...all][0]!] as const] : [];
  });
  return Object.fromEntries(constant);
}

/** Optimizer steps until completions are sampled anew. */
function updatesPerRollout(number: Reader['number']): number | undefined {
  const told = number('updates_per_rollout') ?? number('mu');
  if (told !== undefined) return Math.max(1, told);
  // CS336's names.
  const [epochs, sampled, trained] = [
    'epochs_per_rollout_batch',
    'rollout_batch_size',
    'train_batch_size',
  ].map(number);
  if (epochs !== undefined && sampled !== undefined && trained !== undefined && trained > 0)
    return Math.max(1, (epochs * sampled) / trained);
  const iterations = number('num_iterations');
  const accumulated = number('gradient_accumulation_steps');
  if (iterations === undefined || accumulated === undefined) return undefined;
  const microSteps = number('steps_per_generation') ?? accumulated;
  return Math.max(1, (iterations * microSteps) / accumulated);
}
