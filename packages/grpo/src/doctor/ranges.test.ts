import { describe, expect, it } from 'vitest';
import type { Declared, MetricsEntry } from '../trace/index.js';
import type { LogCheck } from './check.js';
import { LogView } from './log-view.js';
import { registry } from './registry.js';

const ENTRIES = 48;
/** Noise of a hundredth that is the same in each run. */
const noise = (i: number) => 1 + 0.01 * Math.sin(7 * i);

/** What a healthy run logs; its levels are within all ranges. */
const HEALTHY: Readonly<Record<string, number>> = {
  reward: 0.3,
  reward_std: 0.4,
  reward_failures: 0,
  frac_reward_zero_std: 0.1,
  'completions/mean_length': 100,
  'completions/clipped_ratio': 0.05,
  entropy: 0.5,
  kl: 0.01,
  grad_norm: 0.3,
  grad_cosine: 0.5,
  step_time: 10,
  'clip_ratio/region_mean': 0.02,
  'sampling/sampling_logp_difference/mean': 0.01,
  'sampling/kl': 0.001,
  'sampling/probability_difference/mean': 0.004,
};

/** Entries from which on a metric has another level: checks judge the run as a whole, or its end beside its start. */
const TURNS = [0, (2 * ENTRIES) / 3];

/** A healthy log in which a metric leaves its level. */
function logWith(metric: string, level: number, turn: number, declared: Declared): LogView {
  const entries = Array.from({ length: ENTRIES }, (_, i): MetricsEntry => {
    const values = { ...HEALTHY, ...(i >= turn && { [metric]: level }) };
    for (const name of Object.keys(values)) values[name as 'kl']! *= noise(i);
    return { step: i + 1, values };
  });
  return new LogView({ entries, producer: { name: 'TRL' }, stepsPerEntry: 1 }, declared);
}

const K3: Declared = { kl: { estimator: 'k3', beta: 0.04 }, dtype: 'float32' };
const healthy = (declared: Declared) => logWith('reward', HEALTHY.reward!, 0, declared);

const ranged = registry.filter(
  (check): check is LogCheck => check.scope === 'log' && check.ranges !== undefined,
);

describe('ranges of the checks of a log', () => {
  it.each(ranged.map((check) => [check.code, check] as const))(
    '%s finds nothing inside and something outside',
    (code, check) => {
      const declared = code === 'B49.log' ? K3 : {};
      const ranges = check.ranges!(healthy(declared));
      expect(ranges.length).toBeGreaterThan(0);
      expect(check.test(healthy(declared)).verdict).toBe('pass');
      for (const { metric, low, high } of ranges) {
        const edges = [
          ...(low === undefined ? [] : [{ edge: low, out: -1 }]),
          ...(high === undefined ? [] : [{ edge: high, out: 1 }]),
        ];
        for (const { edge, out } of edges) {
          const away = Math.max(0.15 * Math.abs(edge), 1e-6);
          const verdictsAt = (level: number) =>
            TURNS.map((turn) => check.test(logWith(metric, level, turn, declared)).verdict);
          const beyond = verdictsAt(edge + out * away);
          expect(
            beyond.some((verdict) => /warn|fail|inform/.test(verdict)),
            `${metric} beyond ${edge}`,
          ).toBe(true);
          if (edge !== 0)
            expect(verdictsAt(edge - out * away), `${metric} within ${edge}`).toEqual(['pass', 'pass']);
        }
      }
    },
  );
});
