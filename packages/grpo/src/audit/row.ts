import { groupsOf } from '../doctor/groups.js';
import { gradesOf, PENALTY } from '../doctor/measures/grades.js';
import { largest, mean, smallest, sum } from '../maths/moments.js';
import type { Batch } from '../step/batch.js';
import { type Comparison, offsetsOf, type StepRecord, type UpdateRecord } from '../trace/index.js';
import { worstOf } from './worst.js';

/** Relative: sums of the same numbers in another order. */
const ROUNDING = 1e-6;
/** Relative: rewards that differ by less are sums of the same parts in another order. */
const EQUAL = 1e-12;

/** Metrics by their names, as a row of `metrics.jsonl` has them. */
type Row = Readonly<Record<string, number>>;

/**
 * Holds the metrics of a step to what its record gives: those of its completions, its rewards, its updates and its loss.
 *
 * @param own - the step's own problems, where some of their groups gave way to others: the row tells of these, the record
 *   of those that were learnt from
 */
export function compareRow(row: Row, record: StepRecord, own?: Batch): Comparison[] {
  const rollout = own ? rolloutOf(own) : recordedRollout(record);
  const plain = { ...(rollout && ofRollout(rollout)), ...ofUpdates(record), ...ofLoss(record) };
  const pairs = Object.entries(plain).map(([tensor, value]) => {
    const found = row[tensor] ?? Number.NaN;
    const isNone = Number.isNaN(value) && Number.isNaN(found);
    return {
      found,
      plain: value,
      bound: ROUNDING * Math.max(1, Math.abs(value)),
      tensor,
      ...(isNone && { deviation: 0 }),
    };
  });
  return worstOf('metrics', "number in the step's row", pairs);
}

/** Completions of a step, one value for each. */
interface Rollout {
  lengths: readonly number[];
  finish: readonly string[];
  prompts: ArrayLike<number>;
  /** Rewards without the KL. */
  graded: Float64Array;
  /** Values by reward. */
  columns: Readonly<Record<string, ArrayLike<number>>>;
  /** Mean of the KL that was taken from the rewards. */
  penalty?: number;
  /** Whether a group counts as equal by its rewards in sum. */
  sums: boolean;
}

function rolloutOf({ completions_B, rewards_B, rewardTable: { names, columns }, groupSize }: Batch): Rollout {
  return {
    lengths: completions_B.map(({ ids }) => ids.length),
    finish: completions_B.map(({ finishReason }) => finishReason),
    prompts: completions_B.map((_, b) => Math.floor(b / groupSize)),
    graded: rewards_B,
    columns: Object.fromEntries(names.map((name, k) => [name, columns[k]!])),
    sums: true,
  };
}

function recordedRollout(record: StepRecord): Rollout | undefined {
  const { completions, rewards, declared } = record;
  const { lengths, finish, prompt } = completions ?? {};
  if (!lengths || !finish || !prompt || !rewards?.totals) return undefined;
  const { names = [], values, totals } = rewards;
  const columnOf = (k: number) => values!.slice(k * lengths.length, (k + 1) * lengths.length);
  const own = names.flatMap((name, k) => (name === PENALTY ? [] : [[name, columnOf(k)] as const]));
  const graded = gradesOf(record);
  const isPenalized = own.length < names.length;
  return {
    lengths: [...lengths],
    finish,
    prompts: prompt,
    graded,
    columns: Object.fromEntries(own),
    ...(isPenalized && { penalty: mean(graded.map((grade, b) => grade - totals[b]!)) }),
    sums: !isPenalized && (own.length === 1 || declared?.advantage?.combine !== 'normalize_then_sum'),
  };
}

function ofRollout({ lengths, finish, prompts, graded, columns, penalty, sums }: Rollout): Row {
  const ended = lengths.filter((_, b) => finish[b] === 'stop');
  const groups = groupsOf(prompts).map((group) => known(group.map((b) => graded[b]!)));
  const equal = groups.filter((own) => !(largest(own) - smallest(own) > EQUAL * largest(own.map(Math.abs))));
  return {
    reward: meanOf(graded),
    reward_std: deviationOf(graded),
    ...(sums && { frac_reward_zero_std: equal.length / groups.length }),
    'completions/mean_length': mean(lengths),
    'completions/min_length': smallest(lengths),
    'completions/max_length': largest(lengths),
    'completions/clipped_ratio': (lengths.length - ended.length) / lengths.length,
    'completions/mean_terminated_length': ended.length > 0 ? mean(ended) : 0,
    ...Object.fromEntries(
      Object.entries(columns).map(([name, own]) => [`rewards/${name}/mean`, meanOf(own)]),
    ),
    ...(penalty !== undefined && { kl_penalty: penalty }),
  };
}

function ofUpdates({ updates = [] }: StepRecord): Row {
  if (updates.length === 0) return {};
  return {
    loss: mean(updates.map(({ loss }) => loss!)),
    grad_norm: mean(updates.map(({ gradNorm }) => gradNorm!)),
    learning_rate: updates.at(-1)!.learningRate!,
  };
}

/** A trained token: its values in an update. */
interface Trained {
  entropy: number;
  kl: number | undefined;
  cut: 'low' | 'high' | undefined;
}

function ofLoss(record: StepRecord): Row {
  const { declared, updates = [] } = record;
  const { objective, kl, ownStages } = declared ?? {};
  const rows = updates.flatMap((update) => trainedIn(record, update)).filter((tokens) => tokens.length > 0);
  const all = rows.flat();
  if (all.length === 0 || ownStages?.includes('objective')) return {};
  const share = (tokens: readonly Trained[], side: Trained['cut']) =>
    tokens.filter(({ cut }) => cut === side).length / tokens.length;
  const isClipped = objective?.policy === 'clip' && objective.ratio !== 'sequence';
  return {
    entropy: mean(all.map(({ entropy }) => entropy)),
    ...(kl?.level === 'token' && all[0]!.kl !== undefined && { kl: mean(all.map((one) => one.kl!)) }),
    ...(isClipped && {
      'clip_ratio/low_mean': share(all, 'low'),
      'clip_ratio/high_mean': share(all, 'high'),
      'clip_ratio/region_mean': 1 - share(all, undefined),
      'clip_ratio/low_min': smallest(rows.map((tokens) => share(tokens, 'low'))),
      'clip_ratio/high_max': largest(rows.map((tokens) => share(tokens, 'high'))),
    }),
  };
}

/** The trained tokens of each completion of an update. */
function trainedIn({ declared, scored, advantages }: StepRecord, update: UpdateRecord): Trained[][] {
  const { completions, entropies, ratios, klTerms } = update;
  const lengths = scored?.lengths;
  if (!completions || !entropies || !lengths || !scored.mask || !advantages) return [];
  const { clipLow = 0, clipHigh = clipLow, delta = Number.POSITIVE_INFINITY } = declared?.objective ?? {};
  const starts = offsetsOf(lengths);
  let at = 0;
  return [...completions].map((b) => {
    const first = at;
    at += lengths[b]!;
    const tokens = Array.from({ length: lengths[b]! }, (_, t) => ({ t: first + t, own: starts[b]! + t }));
    return tokens
      .filter(({ t, own }) => (update.mask ? update.mask[t] : scored.mask![own]) === 1)
      .map(({ t }): Trained => {
        const ratio = Math.min(ratios?.[t] ?? 1, delta);
        const isLow = ratio < 1 - clipLow && advantages[b]! < 0;
        const isHigh = ratio > 1 + clipHigh && advantages[b]! > 0;
        return { entropy: entropies[t]!, kl: klTerms?.[t], cut: isLow ? 'low' : isHigh ? 'high' : undefined };
      });
  });
}

const known = (values: ArrayLike<number>) => Array.from(values).filter((value) => !Number.isNaN(value));

const meanOf = (values: ArrayLike<number>): number => mean(known(values));

/** Of a sample; 0 of a single value. */
function deviationOf(values: ArrayLike<number>): number {
  const own = known(values);
  if (own.length === 0) return Number.NaN;
  const middle = mean(own);
  return Math.sqrt(sum(own.map((value) => (value - middle) ** 2)) / Math.max(1, own.length - 1));
}
