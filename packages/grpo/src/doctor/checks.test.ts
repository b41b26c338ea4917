import { describe, expect, it } from 'vitest';
import type { StepRecord } from '../trace/index.js';
import type { StepCheck } from './check.js';
import { rightRecords } from './diffusion-record.test.helper.js';
import { examine } from './examine.js';
import { inputs } from './inputs.js';
import { registry } from './registry.js';
import { richRecord } from './rich-record.test.helper.js';

const stepChecks = registry.filter((check): check is StepCheck => check.scope === 'step');

/** The record without what stands at a path. */
function without(record: StepRecord, path: string): StepRecord {
  const copy = structuredClone(record);
  const keys = path.split('.');
  const last = keys.pop()!;
  const holder = keys.reduce<unknown>((place, key) => (place as Record<string, unknown>)[key], copy);
  if (Array.isArray(holder)) holder.splice(Number(last));
  else delete (holder as Record<string, unknown>)[last];
  return copy;
}

describe('a right step', () => {
  it.each([1, 2, 3, 4, 5, 6, 7, 8])('has no finding, seed %i', (seed) => {
    for (const record of rightRecords(seed))
      expect(examine({ records: [record] }, registry).findings).toEqual([]);
  });
});

describe.each(stepChecks.map((check) => [check.code, check] as const))('%s', (_, check) => {
  const records = rightRecords();
  const judged = records.find((record) => check.test(record).verdict === 'pass');

  it('passes a right step', () => {
    expect(judged, JSON.stringify(records.map((record) => check.test(record)))).toBeDefined();
  });

  it.each(check.needs)('is not applicable without %s', (name) => {
    const { path } = inputs[name];
    expect(check.test(without(judged!, path))).toEqual({
      verdict: 'not applicable',
      missing: expect.arrayContaining([path]),
    });
  });
});

describe('a step without completions', () => {
  it('passes nothing that looks at them', () => {
    const record = richRecord();
    const none = {
      ...record,
      completions: {},
      scored: {},
      rewards: {},
      updates: [],
      advantages: new Float64Array(),
    };
    const judgements = examine({ records: [none] }, stepChecks).judgements.filter(({ judged }) => judged > 0);
    const looks = (code: string) => stepChecks.find((check) => check.code === code)!.needs;
    expect(
      judgements
        .flatMap(({ code }) => looks(code))
        .filter((name) => /^(completions|scored|rewards|updates)/.test(inputs[name].path)),
    ).toEqual([]);
  });
});
