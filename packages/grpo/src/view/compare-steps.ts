/** The first difference of two recorded steps, in the order in which a step makes its numbers. */
import { inputs, membersOf, updateRows } from '../doctor/inputs.js';
import { toleranceOf } from '../doctor/tolerance.js';
import type { StepRecord } from '../trace/index.js';
import { completionNames } from './completion-view.js';
import type { Phase } from './phases.js';

/** A quantity that both records have. */
export interface Compared {
  phase: Phase;
  quantity: string;
  /** How many values, or how many texts. */
  values: number;
  /** How many of them differ by more than rounding explains. */
  differing: number;
  /** The first of these; missing where none differs. */
  first?: { where: string; here: number | string; there: number | string };
}

export interface StepComparison {
  /** In the order of the step. */
  compared: readonly Compared[];
  /** Quantities that only one of the records has, or none. */
  missing: readonly string[];
  /** The first quantity that differs; missing where the steps are one. */
  difference?: Compared;
}

/** Numbers or texts of a record, with the place of each row: a prompt, a completion. */
interface Values {
  rows: readonly ArrayLike<number | string>[];
  nameOf(row: number): string;
  /** Name of a place in a row; a token when missing. */
  placeOf?(place: number): string;
}

interface Quantity {
  phase: Phase;
  name: string;
  of(record: StepRecord): Values | undefined;
  /** Largest difference that rounding explains, times the values where they are above `unit`; none of ids and texts. */
  bound?: (record: StepRecord) => number;
  /** Values below it may differ by the bound times it; 1 when missing, 0 for what is only compared relatively. */
  unit?: number;
  /** The same of all values on average: many may be off together by less than the worst one may. */
  mean?: (record: StepRecord) => number;
}

type Update = NonNullable<StepRecord['updates']>[number];

const prompt = (row: number) => `prompt ${row}`;

/** Of one value each prompt, completion or update. */
const singly = (
  values: ArrayLike<number | string> | undefined,
  nameOf: Values['nameOf'],
): Values | undefined => values && { rows: Array.from(values, (value) => [value]), nameOf };

const byCompletion = ({ completions }: Pick<StepRecord, 'completions'>) => {
  const names = completionNames(completions?.prompt ?? []);
  return (row: number) => `completion ${names[row] ?? row}`;
};

const rowsOfCompletions = (
  record: StepRecord,
  rows: readonly ArrayLike<number>[] | undefined,
): Values | undefined => rows && { rows, nameOf: byCompletion(record) };

const nats = {
  bound: (record: StepRecord) => toleranceOf(record).max,
  mean: (record: StepRecord) => toleranceOf(record).mean,
};
const ROUNDING = () => 1e-5;
/** A loss is a mean of terms, and these move as the log-probs do. */
const asMean = { bound: (record: StepRecord) => toleranceOf(record).mean };
/**
 * Norms differ relatively. Measured on 58 pairs of equal ids: by up to 3e-6 in float32, between threads, instruction sets,
 * and TRL and us; by up to 2.4e-2 where bfloat16 is in it.
 */
const asNorm = { bound: (record: StepRecord) => 3 * toleranceOf(record).mean, unit: 1e-3 };

/** Of the first update, in the order of the step: an update may have its completions in another one. */
const ofUpdates =
  (key: Parameters<typeof updateRows>[2]) =>
  (record: StepRecord): Values | undefined => {
    const [update] = record.updates ?? [];
    const rows = updateRows(record, update, key);
    if (!update || !rows) return undefined;
    const members = membersOf(record, update);
    const order = [...members.keys()].sort((i, j) => members[i]! - members[j]!);
    const nameOf = byCompletion(record);
    return { rows: order.map((i) => rows[i]!), nameOf: (row) => nameOf(members[order[row]!]!) };
  };

const ofEachUpdate =
  (value: (update: Update) => number | undefined) =>
  ({ updates }: StepRecord): Values | undefined => {
    const values = updates?.map(value);
    return values?.every((one) => one !== undefined)
      ? singly(values as number[], (row) => (values.length > 1 ? `update ${row + 1}` : ''))
      : undefined;
  };

const QUANTITIES: readonly Quantity[] = [
  {
    phase: 'prompt',
    name: 'messages',
    of: ({ prompts }) =>
      singly(
        prompts?.messages?.map((one) => JSON.stringify(one)),
        prompt,
      ),
  },
  { phase: 'prompt', name: 'texts of the prompts', of: ({ prompts }) => singly(prompts?.texts, prompt) },
  {
    phase: 'prompt',
    name: 'ids of the prompts',
    of: (r) => {
      const rows = inputs.promptIds.from(r);
      return rows && { rows, nameOf: prompt };
    },
  },
  { phase: 'sample', name: 'sampled ids', of: (r) => rowsOfCompletions(r, inputs.ids.from(r)) },
  {
    phase: 'sample',
    name: 'reasons of the ends',
    of: (r) => singly(r.completions?.finish, byCompletion(r)),
  },
  {
    phase: 'sample',
    name: 'log-probs of the sampler',
    of: (r) => rowsOfCompletions(r, inputs.samplerLogprobs.from(r)),
    ...nats,
  },
  {
    phase: 'reward',
    name: 'texts that were graded',
    of: (r) => singly(r.completions?.texts, byCompletion(r)),
  },
  {
    phase: 'reward',
    name: 'values of the rewards',
    of: ({ rewards, ...rest }) => {
      const { names, values } = rewards ?? {};
      if (!names || !values) return undefined;
      const count = values.length / names.length;
      const rows = names.map((_, k) => values.subarray(k * count, (k + 1) * count));
      return { rows, nameOf: (row) => `reward ${names[row]}`, placeOf: byCompletion(rest) };
    },
    bound: ROUNDING,
  },
  { phase: 'reward', name: 'totals', of: (r) => singly(r.rewards?.totals, byCompletion(r)), bound: ROUNDING },
  {
    phase: 'advantage',
    name: 'advantages',
    of: (r) => singly(r.advantages, byCompletion(r)),
    bound: () => 1e-4,
  },
  {
    phase: 'log-prob',
    name: 'log-probs of the old policy',
    of: (r) => rowsOfCompletions(r, inputs.oldLogprobs.from(r)),
    ...nats,
  },
  {
    phase: 'log-prob',
    name: 'log-probs of the reference',
    of: (r) => rowsOfCompletions(r, inputs.referenceLogprobs.from(r)),
    ...nats,
  },
  { phase: 'log-prob', name: 'log-probs of the policy', of: ofUpdates('policyLogprobs'), ...nats },
  { phase: 'loss', name: 'tokens in the loss', of: (r) => rowsOfCompletions(r, inputs.masks.from(r)) },
  { phase: 'loss', name: 'terms of the policy', of: ofUpdates('policyTerms'), ...nats },
  { phase: 'loss', name: 'terms of the KL', of: ofUpdates('klTerms'), ...nats },
  { phase: 'loss', name: 'weights of the terms', of: ofUpdates('weights'), bound: ROUNDING, unit: 0 },
  { phase: 'loss', name: 'loss', of: ofEachUpdate(({ loss }) => loss), ...asMean },
  {
    phase: 'gradient',
    name: 'norm of the gradient',
    of: ofEachUpdate(({ gradNorm }) => gradNorm),
    ...asNorm,
  },
  {
    phase: 'gradient',
    name: 'norms of the gradient by group',
    of: ({ updates: [update] = [] }) => {
      const groups = Object.entries(update?.gradNorms ?? {}).sort();
      return groups.length > 0
        ? singly(
            groups.map(([, norm]) => norm),
            (row) => groups[row]![0],
          )
        : undefined;
    },
    ...asNorm,
  },
  {
    phase: 'update',
    name: 'learning rate',
    of: ofEachUpdate(({ learningRate }) => learningRate),
    bound: ROUNDING,
    unit: 0,
  },
  {
    phase: 'update',
    name: 'norm of the update',
    of: ofEachUpdate(({ updateNorm }) => updateNorm),
    ...asNorm,
  },
];

/** Compares what both records have; numbers that rounding moves agree within the bound of the looser precision. */
export function compareSteps(here: StepRecord, there: StepRecord): StepComparison {
  const compared: Compared[] = [];
  const missing: string[] = [];
  const looser = (of: (record: StepRecord) => number) => Math.max(of(here), of(there));
  for (const { phase, name, of, bound, mean, unit = 1 } of QUANTITIES) {
    const [a, b] = [of(here), of(there)];
    if (a && b) {
      const bounds = { each: bound ? looser(bound) : 0, mean: mean ? looser(mean) : Infinity, unit };
      compared.push({ phase, quantity: name, ...differences(a, b, bounds) });
    } else missing.push(name);
  }
  const difference = compared.find(({ differing }) => differing > 0);
  return { compared, missing, ...(difference && { difference }) };
}

function differences(
  a: Values,
  b: Values,
  bounds: { each: number; mean: number; unit: number },
): Pick<Compared, 'values' | 'differing' | 'first'> {
  let [values, differing, total] = [0, 0, 0];
  let worst = { apart: 0, row: 0, t: 0 };
  let first: Compared['first'];
  const note = (where: string, here: number | string, there: number | string, count = 1) => {
    differing += count;
    first ??= { where, here, there };
  };
  const noteAt = (row: number, t: number) => {
    const [own, other] = [a.rows[row]!, b.rows[row]!];
    const place = own.length === 1 && other.length === 1 ? [] : [a.placeOf?.(t) ?? `token ${t}`];
    note([a.nameOf(row), ...place].filter(Boolean).join(', '), own[t]!, other[t]!);
  };
  if (a.rows.length !== b.rows.length) note('number of rows', a.rows.length, b.rows.length, 0);
  for (let row = 0; row < Math.max(a.rows.length, b.rows.length); row++) {
    const [own, other] = [a.rows[row] ?? [], b.rows[row] ?? []];
    values += Math.max(own.length, other.length);
    for (let t = 0; t < Math.min(own.length, other.length); t++) {
      const apart = Math.abs(Number(own[t]) - Number(other[t]));
      if (Number.isFinite(apart)) total += apart;
      if (apart > worst.apart) worst = { apart, row, t };
      if (!isSame(own[t]!, other[t]!, bounds)) noteAt(row, t);
    }
    const excess = Math.abs(own.length - other.length);
    if (excess > 0) note(`length of ${a.nameOf(row)}`, own.length, other.length, excess);
  }
  if (differing === 0 && total / values > bounds.mean) noteAt(worst.row, worst.t);
  return { values, differing, ...(first && { first }) };
}

function isSame(
  here: number | string,
  there: number | string,
  { each, unit }: { each: number; unit: number },
): boolean {
  if (typeof here !== 'number' || typeof there !== 'number') return here === there;
  if (Number.isNaN(here) || Number.isNaN(there)) return Number.isNaN(here) && Number.isNaN(there);
  return here === there || Math.abs(here - there) <= each * Math.max(unit, Math.abs(here), Math.abs(there));
}
