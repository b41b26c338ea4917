import { describe, expect, it } from 'vitest';
import { examine } from './examine.js';
import { cleanRecord } from './record.test.helper.js';
import { registry } from './registry.js';

describe('the registry', () => {
  it('has codes of its own for every check', () => {
    const codes = registry.map(({ code }) => code);
    expect(new Set(codes).size).toBe(codes.length);
  });

  it('lets only identities fail, and has heuristics say what would settle them', () => {
    for (const check of registry) {
      if (check.kind === 'heuristic') expect(check.settles, check.code).toBeTruthy();
      else expect(check.settles, check.code).toBeUndefined();
    }
  });
});

describe('a clean step', () => {
  it.each([1, 2, 3, 4, 5])('has no finding, seed %i', (seed) => {
    const { findings } = examine({ records: [cleanRecord(seed)] }, registry);
    expect(findings).toEqual([]);
  });

  it('is judged by all step checks but those of what it does not have', () => {
    const { judgements } = examine({ records: [cleanRecord()] }, registry);
    const stepCodes = registry.filter(({ scope }) => scope === 'step').map(({ code }) => code);
    const judged = judgements.filter(({ verdict }) => verdict === 'pass').map(({ code }) => code);
    expect(stepCodes.filter((code) => !judged.includes(code))).toMatchInlineSnapshot(`
      [
        "B04.bos",
        "B06.stop",
        "B12.padding",
        "B36.rows",
        "B22.fallback",
        "B24.provider",
        "B27.gold",
        "B40.ratio",
        "B42.sign",
        "B49.share",
      ]
    `);
  });
});

describe('an empty record', () => {
  it('passes nothing', () => {
    const record = { format: 'grpo-step', version: 1, step: 1, producer: { name: 'test' } } as const;
    const { judgements, findings } = examine({ records: [record] }, registry);
    expect(findings).toEqual([]);
    expect(judgements.filter(({ verdict }) => verdict !== 'not applicable')).toEqual([]);
  });
});
