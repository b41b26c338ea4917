import { describe, expect, it } from 'vitest';
import { faultOf } from '../doctor/finding.js';
import { registry } from '../doctor/registry.js';
import { cleanRuns } from './clean-runs.js';
import { faults } from './faults/index.js';
import { selftest } from './selftest.js';

/** One form of every second fault: `grpo doctor --selftest` runs them all. */
const some = faults
  .filter((_, i) => i % 2 === 0)
  .map((fault) => ({ ...fault, variants: fault.variants.slice(0, 1) }));

describe('the selftest', () => {
  it('names every fault that it plants, and nothing where none is', { timeout: 300_000 }, async () => {
    const missed: string[] = [];
    const finding = new Set<string>();
    const { named, variants, falseFailures, falseWarnings, cleanSteps } = await selftest({
      faults: some,
      clean: cleanRuns(7).filter((_, i) => i % 12 === 0),
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
