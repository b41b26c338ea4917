/** A row of metrics out of whatever object a log holds: numbers by name, and the step. */
import { mean, moments } from '../../../maths/moments.js';
import { commonName, EVALUATION_WORDS, inEvaluation, isTraining } from './metric-names.js';

/** Names of the step, the surest first. */
const STEP_NAMES = [
  'step',
  'global_step',
  'global_step/max_steps',
  'train/global_step',
  'training/global_step',
  'trainer/global_step',
  'train_step',
  'train/step',
  'training_step',
  'grpo_step',
  'grpo/step',
  'meta/step',
  'current_steps',
  'iteration',
  'iter',
  'it',
  'update',
  'upd',
  'episode',
  'round',
  'progress/batch',
  '_step',
  'i',
  '#',
] as const;

/** Whether a name is that of the step. */
export const isStep = (name: string): boolean => rankOf(name) >= 0;

/** How sure a name is to be that of the step; below 0 it is none. */
const rankOf = (name: string) =>
  name.length > 24
    ? -1
    : STEP_NAMES.indexOf(name.toLowerCase().replace(' ', '_').replace(PLURAL, '$1') as 'step');

/** `steps`, `Iterations`; `current_steps` is a name as it is, and episodes or updates are counted within a step, too. */
const PLURAL = /^((?!current)(?:[a-z]+_)?(?:step|iteration))s$/;

/** Objects that only hold the metrics: their name is no part of the metrics' names. */
const WRAPPERS = new Set(['data', 'metrics', 'logs', 'log', 'payload', 'extra', 'fields', 'record']);

/** More are no metrics but weights, or text. */
const MOST_METRICS = 2000;
const MOST_LEVELS = 4;
/** Texts and flags beyond the numbers that a row of metrics may have. */
const MOST_OTHERS = 5;

/** Names that a row of training metrics has at least one of. */
const METRIC =
  /^(train[/_])?(loss|reward|grad_norm|kl|entropy|policy_loss|reward_std)$|^(eval|val|test)[/_](loss|reward|rewards|accuracy|answer_reward|format_reward)\b|^val-(core|aux)\/|^rewards\/|^completions\/|^((ppo_|grpo_)?actor|critic|response_length)\/|^(loss|grpo_loss|rl_trainer|reward|entropy|mismatch_kl)\/|^episode\/\w+_response_tokens$|^optim\/|^env\/|^train\/|^eval_greedy\//;

/** Whether a row with a number of this name is a row of training. */
export const isMetricName = (name: string): boolean => METRIC.test(name) || isTraining(name);

/** Keys under which a row says its kind. */
const KINDS = ['what', 'event', 'type', 'kind', 'phase', 'split', 'mode', 'stage', 'tag'];
const EVALUATION = new RegExp(
  `^(?:${EVALUATION_WORDS})(?:[_ -](?:done|end|step|results?|metrics|summary|complete|finished))?$`,
  'i',
);
const SAMPLE = /^(?:sample|completion)s?$/i;

/** Metrics of which a row of training has one, and a row of settings none. */
const OUTCOMES = new Set<string | undefined>(['reward', 'loss', 'policy_loss']);

/** Matches the name of a list of what the completions of the step earned. */
const REWARDS = /^(?:train\/)?rewards?(?:_list|_per_(?:completion|sample))?$/i;

/** Matches the name of a flag that tells of the step: whether its update was left out. */
const FLAG = /^(?:\w+[_/])?skip(?:ped)?(?:_(?:update|step))?$/i;

export interface MetricRow {
  values: Record<string, number>;
  /** As the row tells it. */
  step?: number;
  /** The last step of the run, where the row tells it. */
  lastStep?: number;
  /** Every name with a value, that of the step too. */
  names: readonly string[];
}

/** The numbers of an object; undefined when nothing in it is a metric of training. */
export function metricRow(object: Record<string, unknown>): MetricRow | undefined {
  const flat: Record<string, unknown> = {};
  const names = flatten(object, '', MOST_LEVELS, flat, []);
  const values: Record<string, number> = {};
  let step: { step: number; lastStep?: number } | undefined;
  for (const name of names.filter(isStep).sort((a, b) => rankOf(a) - rankOf(b))) {
    step ??= stepOf(flat[name]);
    delete flat[name];
  }
  let isMetric = false;
  let others = 0;
  const lists: (readonly number[])[] = [];
  for (const name in flat) {
    const number = (FLAG.test(name) ? flagOf(flat[name]) : undefined) ?? numberOf(flat[name]);
    if (number === undefined) {
      const list = REWARDS.test(name) && step ? numbersOf(flat[name]) : undefined;
      if (list) lists.push(list);
      else if (flat[name] !== null) others++;
      continue;
    }
    values[name] = number;
    isMetric ||= isMetricName(name);
  }
  const [list] = lists;
  if (list) {
    const told = new Set(Object.keys(values).map(commonName));
    const more = {
      ...(!told.has('reward') && { reward: mean(list) }),
      reward_std: moments(list, 1).deviation,
    };
    for (const [name, value] of Object.entries(more)) {
      if (told.has(name)) continue;
      values[name] = value;
      names.push(name);
      isMetric = true;
    }
  }
  const isKind = (words: RegExp) =>
    KINDS.some((kind) => typeof flat[kind] === 'string' && words.test(flat[kind]));
  if (isSample(flat)) return undefined;
  // A whole run may be named `test`.
  const isNamed = typeof flat.name === 'string' && /^eval/i.test(flat.name);
  const isEvaluation = flat.is_eval === true || isNamed || isKind(EVALUATION);
  if (isEvaluation) {
    const named = Object.entries(values).map(([name, value]) => [inEvaluation(name), value] as const);
    const all = named.map(([name]) => name);
    return all.some(isMetricName) ? { values: Object.fromEntries(named), names: all, ...step } : undefined;
  }
  // Settings have names of metrics too, among texts and flags, or beside a seed.
  const isSettings =
    others > Object.keys(values).length + MOST_OTHERS ||
    (values.seed !== undefined && !Object.keys(values).some((name) => OUTCOMES.has(commonName(name))));
  return isMetric && !isSettings ? { values, names, ...step } : undefined;
}

/** 1 or 0 for a truth value, in quotes too. */
function flagOf(value: unknown): number | undefined {
  const text = typeof value === 'string' ? value.trim().toLowerCase() : value;
  if (text === true || text === 'true') return 1;
  return text === false || text === 'false' ? 0 : undefined;
}

/** The numbers of a list of two or more that holds nothing else. */
function numbersOf(value: unknown): number[] | undefined {
  if (!Array.isArray(value) || value.length < 2) return undefined;
  const numbers = value.flatMap((one) => numberOf(one) ?? []);
  return numbers.length === value.length ? numbers : undefined;
}

/** Names that a step's row has, and no completion's. */
const OF_STEP = /loss|kl|grad|mean|avg/i;

/** Whether a row is one completion: it says so, or has its text and its prompt's, and nothing of the step. */
function isSample(row: Readonly<Record<string, unknown>>): boolean {
  const isText = (name: string) => typeof row[name] === 'string';
  const isCompletion = isText('prompt') && ['completion', 'response', 'output'].some(isText);
  const saysSo = isText('type') && SAMPLE.test(String(row.type));
  return (saysSo || isCompletion) && !Object.keys(row).some((name) => OF_STEP.test(name));
}

/** A step, or a step and the last one: `12/500`. */
function stepOf(value: unknown): { step: number; lastStep?: number } | undefined {
  const parts = typeof value === 'string' ? /^(\d+)\/(\d+)$/.exec(value) : null;
  if (parts) return { step: Number(parts[1]), lastStep: Number(parts[2]) };
  const step = numberOf(value);
  return step !== undefined && Number.isFinite(step) ? { step } : undefined;
}

/** A number, or one in quotes, `1,200.5` too; `nan` and `inf` too. Anything else is none, `'12 s'` and `true` for instance. */
export function numberOf(value: unknown): number | undefined {
  if (typeof value === 'number') return value;
  if (typeof value !== 'string' || value.length > 40) return undefined;
  const text = value.trim();
  if (/^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(text)) return Number(text);
  if (/^[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?$/.test(text)) return Number(text.replaceAll(',', ''));
  const special = /^([+-]?)(nan|inf|infinity)$/i.exec(text);
  if (!special) return undefined;
  if (special[2]!.toLowerCase() === 'nan') return Number.NaN;
  return special[1] === '-' ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
}

/** Puts what is nested under one name with slashes; gives the names. */
function flatten(
  object: Record<string, unknown>,
  prefix: string,
  levels: number,
  into: Record<string, unknown>,
  names: string[],
): string[] {
  for (const key of Object.keys(object)) {
    if (names.length >= MOST_METRICS) break;
    const value = object[key];
    const nested = typeof value === 'object' && value !== null && !Array.isArray(value);
    const name = prefix + key;
    if (nested && levels > 0) {
      const inner = prefix === '' && WRAPPERS.has(key) ? '' : `${name}/`;
      flatten(value as Record<string, unknown>, inner, levels - 1, into, names);
    } else if (!nested && name !== '__proto__') {
      into[name] = value;
      // A metric that is not measured says nothing about the trainer.
      if (value !== null) names.push(name);
    }
  }
  return names;
}
