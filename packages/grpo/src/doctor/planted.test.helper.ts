/** Faults put into a right record, and what one check makes of them. */
import { describe, expect, it } from 'vitest';
import type { Declared } from '../trace/index.js';
import { type MetricSeries, offsetsOf, type StepRecord, type UpdateRecord } from '../trace/index.js';
import { LogView } from './log-view.js';
import type { Evidence, Outcome } from './outcome.js';
import { registry } from './registry.js';
import { type Rich, richRecord } from './rich-record.test.helper.js';

export interface Planted {
  name: string;
  /** The right record that it is put into. */
  into?: Rich;
  plant(record: StepRecord): void;
  verdict: Outcome['verdict'];
  /** Of the first evidence. */
  evidence?: object;
  measured?: object;
}

/** Tests one check of a step with faults, and with what only looks like one. */
export function testStepCheck(code: string, cases: readonly Planted[]): void {
  describe(code, () => {
    it.each(cases)('$name: $verdict', ({ into, plant, verdict, evidence, measured }) => {
      const record = richRecord(into);
      plant(record);
      expectOutcome(outcomeOf(code, record), {
        verdict,
        ...(evidence && { evidence }),
        ...(measured && { measured }),
      });
    });
  });
}

export function outcomeOf(code: string, record: StepRecord): Outcome {
  const check = registry.find((one) => one.code === code);
  if (check?.scope !== 'step') throw new Error(`${code} is no check of a step`);
  return check.test(record);
}

export function expectOutcome(
  outcome: Outcome,
  { verdict, evidence, measured }: Pick<Planted, 'verdict' | 'evidence' | 'measured'>,
): void {
  expect(outcome, JSON.stringify(outcome)).toMatchObject({ verdict, ...(measured && { measured }) });
  if (evidence) expect((outcome as { evidence: readonly Evidence[] }).evidence[0]).toMatchObject(evidence);
}

export interface LogCase {
  name: string;
  /** Values by metric: one an entry. */
  metrics: Record<string, readonly (number | undefined)[]>;
  series?: Partial<MetricSeries>;
  declared?: Declared;
  /** Of the first entry; 1 when missing. */
  firstStep?: number;
  /** Steps from one entry to the next; 1 when missing. */
  every?: number;
  verdict: Outcome['verdict'];
  evidence?: object;
  measured?: object;
}

/** Tests one check of a log, with logs that are `entries` long. */
export function testLogCheck(code: string, cases: readonly LogCase[]): void {
  describe(code, () => {
    it.each(cases)('$name: $verdict', (one) => {
      const check = registry.find((other) => other.code === code);
      if (check?.scope !== 'log') throw new Error(`${code} is no check of a log`);
      expectOutcome(check.test(new LogView(seriesOf(one), one.declared)), one);
    });
    it('is not applicable without its metrics', () => {
      const check = registry.find((other) => other.code === code);
      const empty = new LogView({ entries: [{ step: 1, values: { other: 1 } }], producer: { name: 'test' } });
      expect(check?.scope === 'log' && check.test(empty).verdict).toBe('not applicable');
    });
  });
}

export function seriesOf({
  metrics,
  series,
  firstStep = 1,
  every = 1,
}: Pick<LogCase, 'metrics' | 'series' | 'firstStep' | 'every'>): MetricSeries {
  const count = Math.max(...Object.values(metrics).map(({ length }) => length));
  return {
    producer: { name: 'test' },
    ...(every === 1 && { stepsPerEntry: 1 }),
    ...series,
    entries: Array.from({ length: count }, (_, i) => ({
      step: firstStep + every * i,
      values: Object.fromEntries(
        Object.entries(metrics).flatMap(([name, column]) =>
          column[i] === undefined ? [] : [[name, column[i]]],
        ),
      ),
    })),
  };
}

/** `count` times a value, or one by index. */
export const times = <T>(count: number, value: T | ((i: number) => T)): T[] =>
  Array.from({ length: count }, (_, i) =>
    typeof value === 'function' ? (value as (i: number) => T)(i) : value,
  );

/** Where the tokens of a scored completion begin. */
export const startOf = (record: StepRecord, completion: number): number =>
  offsetsOf(record.scored!.lengths!)[completion]!;

const PER_TOKEN = ['policyLogprobs', 'entropies', 'ratios', 'policyTerms', 'klTerms', 'weights'] as const;
const SCORED = ['ids', 'mask', 'oldLogprobs', 'referenceLogprobs'] as const;

/** Scores a completion without its last tokens: all but `left` of them. */
export function cutScored(record: StepRecord, completion: number, left: number): void {
  const scored = record.scored!;
  const start = startOf(record, completion);
  const length = scored.lengths![completion]!;
  const keep = (_: number, t: number) => t < start + left || t >= start + length;
  const holders: Partial<Record<string, unknown>>[] = [scored, ...record.updates!];
  for (const holder of holders) {
    for (const key of [...PER_TOKEN, ...SCORED]) {
      const values = holder[key] as Float32Array | undefined;
      if (values) holder[key] = values.filter(keep);
    }
  }
  scored.lengths![completion] = left;
}

/** Changes every value of a per-token array of the first update. */
export function change(
  record: StepRecord,
  key: (typeof PER_TOKEN)[number],
  to: (value: number, index: number) => number,
  update = 0,
): void {
  const holder: UpdateRecord = record.updates![update]!;
  holder[key] = holder[key]!.map(to);
}
