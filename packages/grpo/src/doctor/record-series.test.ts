import { expect, it } from 'vitest';
import { examine } from './examine.js';
import { entryOf } from './record-series.js';
import { registry } from './registry.js';
import { richRecord } from './rich-record.test.helper.js';

it('has the metrics of a step as a log would have them', () => {
  const record = richRecord();
  record.rewards!.totals![23] = Number.NaN;
  const { step, values } = entryOf(record);
  const graded = [...record.rewards!.totals!].slice(0, 23);
  expect(step).toBe(1);
  expect(values.reward).toBeCloseTo(graded.reduce((a, b) => a + b, 0) / 23, 12);
  expect(values).toMatchObject({ learning_rate: 1e-3, grad_norm: 0.7 });
  const ends = record.completions!.finish!;
  expect(values['completions/clipped_ratio']).toBe(
    ends.filter((end) => end === 'length').length / ends.length,
  );
  expect(Object.keys(values)).toContain('rewards/right/mean');
  expect(
    entryOf({ ...record, rewards: undefined, updates: undefined, completions: undefined }).values,
  ).toEqual({});
});

it('lets checks of a log judge records that have none beside them', () => {
  const records = Array.from({ length: 8 }, (_, i) => {
    const record = richRecord({ step: i + 1 });
    if (i > 0) for (const update of record.updates!) update.learningRate = 0;
    return record;
  });
  const codes = (material: Parameters<typeof examine>[0]) =>
    examine(material, registry).findings.map(({ code }) => code);
  expect(codes({ records })).toContain('B54.rate');
  const series = { entries: [{ step: 1, values: { reward: 1 } }], producer: { name: 'test' } };
  expect(codes({ records, series })).not.toContain('B54.rate');
  expect(codes({ records: records.slice(0, 1) })).not.toContain('B54.rate');
});
