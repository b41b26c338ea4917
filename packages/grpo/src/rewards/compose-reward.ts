import {
  type CompletionFailure,
  isPartialFailure,
  isPerCompletion,
  markPerCompletion,
  PartialFailure,
} from './each.js';
import { carryReport } from './judge/judge-report.js';
import type { RewardFunction, RewardValue, Verdict } from './reward.js';
import { parseLabel, type Tiers } from './tier.js';

/** How a reward is made of the parts that a function gives. */
export interface Composition {
  /** Weights of the parts whose sum is the reward; without them it is the function's own value. */
  components?: Readonly<Record<string, number>> | undefined;
  /** Penalties by the tier of the row, for the parts `missed` and `over`. */
  tiers?: Tiers | undefined;
  /** Field of a row that holds its tier. */
  tierKey: string;
}

/**
 * A reward of weighted components, less the penalty of the row's tier: Σ weight × component − missed × (what the tier
 * takes for missing) − over × (what it takes for excess). The parts stay, and `penalty` joins them. Where the function
 * has no opinion there is none.
 *
 * A completion whose verdict lacks a part that is asked for fails, as does one whose row has no known tier.
 */
export function composeReward<Row>(
  score: RewardFunction<Row>,
  composition: Composition,
): RewardFunction<Row> {
  const compose: RewardFunction<Row> = async (batch) => {
    const failures: CompletionFailure[] = [];
    let values: unknown;
    try {
      values = await score(batch);
    } catch (error) {
      if (!isPartialFailure(error)) throw error;
      values = error.values;
      failures.push(...error.failures);
    }
    // The caller refuses a result that is not a list.
    if (!Array.isArray(values)) return values as RewardValue[];
    const lost = new Set(failures.map(({ index }) => index));
    const results = values.map((value: RewardValue, index) => {
      if (lost.has(index) || value === null || (typeof value === 'object' && value.value === null))
        return value;
      const result = composeOne(value, batch.rows[index], composition);
      if (typeof result !== 'string') return result;
      failures.push({ index, reason: result });
      return null;
    });
    if (failures.length > 0) throw new PartialFailure(results, failures);
    return results;
  };
  return carryReport(score, isPerCompletion(score) ? markPerCompletion(compose) : compose);
}

/** The composed verdict, or why there is none. */
function composeOne(
  returned: RewardValue,
  row: unknown,
  { components, tiers, tierKey }: Composition,
): Verdict | string {
  const verdict: Verdict = typeof returned === 'object' && returned !== null ? returned : { value: returned };
  const parts = { ...verdict.parts };
  const wanted = [...Object.keys(components ?? {}), ...(tiers ? ['missed', 'over'] : [])];
  const missing = wanted.find((part) => parts[part] === undefined);
  if (missing !== undefined) {
    const has = Object.keys(parts).join(', ') || 'none';
    return `returned no part '${missing}', which its settings ask for; its parts are: ${has}`;
  }
  const sum = components
    ? Object.entries(components).reduce((total, [part, weight]) => total + weight * parts[part]!, 0)
    : verdict.value!;
  if (!tiers) return { ...verdict, value: sum, parts };
  const label = parseLabel((row as Readonly<Record<string, unknown>>)[tierKey])?.label;
  const tier = label !== undefined && Object.hasOwn(tiers, label) ? tiers[label] : undefined;
  if (!tier) return `was given a row whose ${tierKey} is none of ${Object.keys(tiers).join(', ')}`;
  const penalty = tier.missed * parts.missed! + tier.over * parts.over!;
  const why = parts.missed! * tier.missed > 0 ? 'missed' : 'over';
  const rule = penalty > 0 ? `tier ${label}: ${why}` : verdict.rule;
  return {
    ...verdict,
    value: sum - penalty,
    parts: { ...parts, penalty },
    ...(rule !== undefined && { rule }),
  };
}
