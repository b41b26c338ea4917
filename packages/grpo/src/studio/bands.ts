/** Where the doctor finds nothing wrong with a metric's level: its own bounds, for the curves. */
import type { LogCheck } from '../doctor/check.js';
import type { LogView } from '../doctor/log-view.js';
import { registry } from '../doctor/registry.js';
import { sourcesOf } from '../view/report/examined.js';
import type { Band } from './requests.js';

interface Bound {
  value: number;
  check: LogCheck;
}

/** The bands of a log's metrics: of several checks the narrowest; none where no check can judge the log. */
export function bandsOf(log: LogView): ReadonlyMap<string, Band> {
  const lows = new Map<string, Bound>();
  const highs = new Map<string, Bound>();
  for (const check of registry) {
    if (check.scope !== 'log' || !check.ranges || check.test(log).verdict === 'not applicable') continue;
    for (const { metric, low = Number.NEGATIVE_INFINITY, high = Number.POSITIVE_INFINITY } of check.ranges(
      log,
    )) {
      if (low > (lows.get(metric)?.value ?? Number.NEGATIVE_INFINITY))
        lows.set(metric, { value: low, check });
      if (high < (highs.get(metric)?.value ?? Number.POSITIVE_INFINITY))
        highs.set(metric, { value: high, check });
    }
  }
  const metrics = new Set([...lows.keys(), ...highs.keys()]);
  return new Map([...metrics].map((metric) => [metric, bandOf(lows.get(metric), highs.get(metric))]));
}

function bandOf(low: Bound | undefined, high: Bound | undefined): Band {
  const checks = new Set([low, high].flatMap((bound) => bound?.check ?? []));
  return {
    ...(low && { low: low.value }),
    ...(high && { high: high.value }),
    says: [...checks].map(({ code, threshold }) => `${code}: ${threshold}.`).join(' '),
    source: [...new Set([...checks].map(sourcesOf))].join('; '),
  };
}
