import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Dice, mutateJson } from '../formats/mutate.test.helper.js';
import { rowsOf, type StepRecord, type UpdateRecord } from '../trace/index.js';
import { stepRecordSchema } from '../trace/record.js';
import { shapeProblem } from '../trace/shapes.js';
import { rightRecords } from './diffusion-record.test.helper.js';
import { examine } from './examine.js';
import { change, cutScored } from './planted.test.helper.js';
import { registry } from './registry.js';
import { richRecord } from './rich-record.test.helper.js';

const checks = registry.filter(({ scope }) => scope !== 'log');

/** What every check says of a record: its verdict, and who leads. */
function verdictsOf(record: StepRecord) {
  const { findings, judgements } = examine({ records: [record] }, checks);
  return {
    verdicts: Object.fromEntries(judgements.map(({ code, verdict }) => [code, verdict])),
    cause: findings[0]?.code,
  };
}

/** Right records, and some with a fault that depends on places. */
const samples: [name: string, record: StepRecord][] = [
  ...rightRecords().map((record, i): [string, StepRecord] => {
    // The draws of masks are of a completion's place.
    for (const plan of record.diffusion?.plans ?? []) delete plan.keys;
    // Rows of another file stay in their order.
    delete record.rows;
    return [`right, variant ${i}`, record];
  }),
  ...Object.entries<(record: StepRecord) => void>({
    'a lost end token': (record) => cutScored(record, 10, record.scored!.lengths![10]! - 1),
    'another prompt': ({ prompts }) => void prompts!.scoredIds!.fill(44, 3, 4),
    'a wrong advantage': ({ advantages }) => void advantages!.fill(0.3, 13, 14),
    'a wrong reward': ({ rewards }) => void rewards!.totals!.fill(0.3, 13, 14),
    'a mask with a hole': ({ scored }) => void scored!.mask!.fill(0, 80, 82),
    'another KL': (record) => change(record, 'klTerms', (value, i) => (i === 100 ? -1 : value)),
    'another ratio': (record) => change(record, 'ratios', (value, i) => (i === 100 ? 2 : value), 1),
  }).map(([name, plant]): [string, StepRecord] => {
    const record = richRecord();
    plant(record);
    return [name, record];
  }),
];

type Rows = Int32Array | Float32Array | Uint8Array;
const PER_TOKEN = ['policyLogprobs', 'entropies', 'ratios', 'policyTerms', 'klTerms', 'weights'] as const;
const OF_SCORED = ['mask', 'oldLogprobs', 'referenceLogprobs'] as const;

/** What a masked-diffusion model filled and hid, with its completions in another order. */
function moveDiffusion(
  { diffusion, prompts, completions }: StepRecord,
  order: readonly number[],
  moveRows: (holder: object, keys: readonly string[], lengths: Int32Array) => void,
): void {
  const { widths, plans } = diffusion!;
  moveRows(diffusion!, ['region', 'order'], widths!);
  for (const plan of plans!) {
    const { views } = plan;
    const timesViews = (sizes: ArrayLike<number>) => views.map((count, b) => count * sizes[b]!);
    moveRows(plan, ['weights'], views);
    moveRows(plan, ['region'], timesViews(widths!));
    moveRows(plan, ['prompt'], timesViews(completions!.prompt!.map((p) => prompts!.lengths![p]!)));
    plan.views = Int32Array.from(order, (b) => views[b]!);
  }
  diffusion!.widths = Int32Array.from(order, (b) => widths![b]!);
}

/** The record with its completions in another order, and its prompts in another. */
function reordered(record: StepRecord, order: readonly number[], prompts: readonly number[]): StepRecord {
  const copy = structuredClone(record);
  const { completions, scored, rewards } = copy;
  const moveRows = (holder: object, keys: readonly string[], lengths: Int32Array) => {
    const own = holder as Record<string, Rows | undefined>;
    for (const key of keys) {
      const values = own[key];
      if (!values) continue;
      const rows = rowsOf(values, lengths);
      own[key] = (values.constructor as Float32ArrayConstructor).from(
        order.flatMap((b) => [...rows[b]!]),
      ) as Rows;
    }
  };
  const pick = <T>(values: ArrayLike<T>): T[] => order.map((b) => values[b]!);
  moveRows(completions!, ['ids', 'source', 'samplerLogprobs', 'sampledLogprobs'], completions!.lengths!);
  const { support } = completions!;
  if (support) {
    moveRows(support, ['lengths'], completions!.lengths!);
    moveRows(support, ['data'], support.sizes!);
    support.sizes = Int32Array.from(pick(support.sizes!));
  }
  moveRows(scored!, ['ids', ...OF_SCORED], scored!.lengths!);
  for (const update of copy.updates!) moveRows(update, [...PER_TOKEN, ...OF_SCORED], scored!.lengths!);
  if (copy.diffusion) moveDiffusion(copy, order, moveRows);
  completions!.lengths = Int32Array.from(pick(completions!.lengths!));
  scored!.lengths = Int32Array.from(pick(scored!.lengths!));
  for (const key of ['texts', 'sampledTexts'] as const)
    if (completions![key]) completions![key] = pick(completions![key]);
  completions!.finish = pick(completions!.finish!);
  completions!.prompt = Int32Array.from(pick(completions!.prompt!), (p) => prompts.indexOf(p));
  copy.advantages = Float64Array.from(pick(copy.advantages!));
  rewards!.totals = Float64Array.from(pick(rewards!.totals!));
  rewards!.values = Float64Array.from(pick(rewards!.values!));
  rewards!.providers = pick(rewards!.providers!);
  const own = copy.prompts! as Record<string, unknown>;
  for (const [ids, lengths] of [
    ['ids', 'lengths'],
    ['scoredIds', 'scoredLengths'],
  ] as const) {
    const rows = rowsOf(copy.prompts![ids]!, copy.prompts![lengths]!);
    own[ids] = Int32Array.from(prompts.flatMap((p) => [...rows[p]!]));
    own[lengths] = Int32Array.from(prompts, (p) => rows[p]!.length);
  }
  for (const key of ['texts', 'messages', 'answers'] as const)
    own[key] = prompts.map((p) => (copy.prompts![key] as unknown[])[p]);
  return copy;
}

describe.each(samples)('verdicts on %s', (_, record) => {
  const expected = verdictsOf(record);

  it('do not depend on the order within groups, and of groups', () => {
    const groups = fc.shuffledSubarray([0, 1, 2, 3, 4, 5], { minLength: 6 });
    const within = fc.array(fc.shuffledSubarray([0, 1, 2, 3], { minLength: 4 }), {
      minLength: 6,
      maxLength: 6,
    });
    fc.assert(
      fc.property(groups, within, (prompts, orders) => {
        const order = prompts.flatMap((p) => orders[p]!.map((i) => 4 * p + i));
        expect(verdictsOf(reordered(record, order, prompts))).toEqual(expected);
      }),
      { numRuns: 10, seed: 1 },
    );
  });

  it('do not depend on the type of numbers that a writer chose', () => {
    const wider = (value: unknown): unknown => {
      if (value instanceof Int32Array || value instanceof Uint8Array)
        return BigInt64Array.from([...value].map(BigInt));
      if (value instanceof Float32Array) return Float64Array.from(value);
      if (ArrayBuffer.isView(value) || typeof value !== 'object' || value === null) return value;
      if (Array.isArray(value)) return value.map(wider);
      return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, wider(item)]));
    };
    expect(verdictsOf(stepRecordSchema.parse(wider(record)))).toEqual(expected);
  });
});

/** Numbers that arithmetic stumbles over. */
const ODD = [
  0,
  -0,
  1,
  -1,
  0.5,
  1e30,
  -1e30,
  1e-30,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  Number.NEGATIVE_INFINITY,
];

/** A record with some fields gone and some values changed: still one that a reader accepts, or undefined. */
function damaged(seed: number): StepRecord | undefined {
  const dice = new Dice(seed);
  const records = rightRecords(1 + (seed % 5));
  const record = records[dice.below(records.length)]!;
  for (let n = dice.below(4); n > 0; n--) scramble(dice, record);
  for (let n = dice.below(8); n > 0; n--) drop(dice, record);
  if (dice.below(4) === 0) empty(dice, record);
  if (dice.below(10) === 0)
    for (const key of dice.of([['prompts'], ['updates'], ['completions', 'scored']] as const))
      delete record[key];
  const plain = dice.below(2) ? mutated(dice, record) : record;
  const parsed = stepRecordSchema.safeParse(plain);
  return parsed.success && shapeProblem(parsed.data) === undefined ? parsed.data : undefined;
}

/** Odd values in the JSON part, typed arrays as they are. */
function mutated(dice: Dice, record: StepRecord): unknown {
  const arrays: unknown[] = [];
  const json: unknown = JSON.parse(
    JSON.stringify(record, (_, value: unknown) =>
      ArrayBuffer.isView(value) ? `array ${arrays.push(value) - 1}` : value,
    ),
  );
  return JSON.parse(JSON.stringify(mutateJson(dice, json)), (_, value: unknown) => {
    const index = typeof value === 'string' ? /^array (\d+)$/.exec(value)?.[1] : undefined;
    return index === undefined ? value : arrays[Number(index)];
  });
}

const holdersOf = (record: StepRecord): Record<string, unknown>[] =>
  [
    record,
    record.declared,
    record.tokenizer,
    record.prompts,
    record.completions,
    record.scored,
    record.rewards,
    record.probes,
    ...(record.updates ?? []),
  ].filter((holder) => holder !== undefined) as Record<string, unknown>[];

/** Puts odd numbers into an array, or over all of it. */
function scramble(dice: Dice, record: StepRecord): void {
  const holder = dice.of(holdersOf(record));
  const names = Object.keys(holder).filter((key) => ArrayBuffer.isView(holder[key]) && !/engths$/.test(key));
  if (names.length === 0) return;
  const name = dice.of(names);
  const values = holder[name] as Float64Array;
  const high = name === 'prompt' ? 6 : name === 'completions' ? 24 : 50;
  const value = values instanceof Int32Array ? () => dice.below(high) : () => dice.of(ODD);
  const all = dice.below(2) === 0;
  holder[name] = values.map((own) => (all || dice.below(20) === 0 ? value() : own));
}

const HEAD = ['format', 'version', 'step', 'producer'];

function drop(dice: Dice, record: StepRecord): void {
  const holder = dice.of(holdersOf(record));
  const names = Object.keys(holder).filter((key) => !HEAD.includes(key));
  if (names.length > 0) delete holder[dice.of(names)];
}

/** Makes completions empty, or leaves none. */
function empty(dice: Dice, record: StepRecord): void {
  const { completions, scored } = record;
  const keep = dice.below(3) ? () => dice.below(2) === 0 : () => false;
  const [sampled, trained] = [completions?.lengths, scored?.lengths];
  const cut = (
    holder: object | undefined,
    keys: readonly string[],
    lengths: Int32Array | undefined,
    kept: boolean[],
  ) => {
    const own = (holder ?? {}) as Record<string, Float32Array | undefined>;
    for (const key of keys) {
      const values = own[key];
      if (values && lengths)
        own[key] =
          values.constructor === Float32Array
            ? Float32Array.from(rowsOf(values, lengths).flatMap((row, b) => (kept[b] ? [...row] : [])))
            : (values.constructor as Float32ArrayConstructor).from(
                rowsOf(values, lengths).flatMap((row, b) => (kept[b] ? [...row] : [])),
              );
    }
  };
  const kept = Array.from({ length: 24 }, keep);
  cut(completions, ['ids', 'source', 'samplerLogprobs', 'sampledLogprobs'], sampled, kept);
  cut(scored, ['ids', 'mask', 'oldLogprobs', 'referenceLogprobs'], trained, kept);
  for (const update of record.updates ?? ([] as UpdateRecord[])) cut(update, PER_TOKEN, trained, kept);
  if (sampled) completions!.lengths = sampled.map((length, b) => (kept[b] ? length : 0));
  if (trained) scored!.lengths = trained.map((length, b) => (kept[b] ? length : 0));
}

describe('any record that a reader accepts', () => {
  it('is examined without an error, and its findings are data', () => {
    let accepted = 0;
    const seen = new Set<string>();
    for (let seed = 0; seed < FUZZ; seed++) {
      const record = damaged(seed);
      if (!record) continue;
      accepted++;
      const { findings, judgements } = attempt(seed, () => examine({ records: [record, record] }, checks));
      expect(judgements.length).toBe(checks.length);
      for (const { code, evidence } of findings) {
        seen.add(code);
        for (const item of evidence) {
          expect(item.completion ?? 0, `seed ${seed}: ${code}`).toBeGreaterThanOrEqual(0);
          expect(Number.isInteger(item.token ?? 0), `seed ${seed}: ${code}`).toBe(true);
        }
      }
    }
    expect(accepted).toBeGreaterThan(FUZZ / 3);
    expect(seen.size).toBeGreaterThan(30);
  });
});

/** Long runs by hand. */
const FUZZ = Number(process.env.GRPO_FUZZ ?? 600);

function attempt<T>(seed: number, body: () => T): T {
  try {
    return body();
  } catch (cause) {
    throw new Error(`seed ${seed}`, { cause });
  }
}
