import { describe, expect, it } from 'vitest';
import { faultOf } from '../doctor/finding.js';
import { registry } from '../doctor/registry.js';
import { cleanRuns } from './clean-runs.js';
import { selftest } from './selftest.js';

describe('the selftest', () => {
  it('names every fault that it plants, and nothing where none is', { timeout: 600_000 }, async () => {
    const missed: string[] = [];
    const finding = new Set<string>();
    const { named, variants, falseFailures, falseWarnings, cleanSteps } = await selftest({
      clean: cleanRuns(7).filter((_, i) => i % 24 === 0),
      onFault: (verdict) => {
        if (!verdict.named) missed.push(`${verdict.code} ${verdict.variant}`);
        for (const { code } of verdict.found) if (faultOf(code) === verdict.code) finding.add(code);
      },
    });
    expect(missed).toEqual([]);
    const proved = registry.filter(({ proofs }) => proofs.includes('native')).map(({ code }) => code);
    expect([...finding].filter((code) => !proved.includes(code as never))).toEqual([]);
    expect(named).toBe(variants);
    expect(cleanSteps).toBeGreaterThan(0);
    expect([falseFailures, falseWarnings]).toEqual([0, 0]);
  });
});
