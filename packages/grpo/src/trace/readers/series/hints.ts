/** Facts about a log that its rows do not tell: from its format, its settings, the files beside it. */
import { type Declared, declaredByBoth } from '../../declared.js';
import type { MetricSeries } from '../../series.js';
import type { Producer } from '../producers/index.js';

/** Facts about a log from elsewhere. */
export interface Hints {
  /** The trainer, if the format itself names it. */
  producer?: Producer;
  version?: string;
  meaning?: Partial<MetricSeries>;
  declared?: Declared;
  /** Known from the format, whatever metrics are in it. */
  isGrpo?: boolean;
  /** Names of all runs of the file, which one program wrote. */
  names?: ReadonlySet<string>;
}

/** What several sources tell, where the later ones are surer. */
export function mergedHints(...sources: readonly Hints[]): Hints {
  const merged: Hints = {};
  for (const { meaning, declared, ...others } of sources) {
    Object.assign(merged, others);
    if (meaning) merged.meaning = { ...merged.meaning, ...meaning };
    if (declared) merged.declared = declaredByBoth(merged.declared, declared);
  }
  return merged;
}
