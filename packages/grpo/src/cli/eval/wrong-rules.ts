import type { EvalCompletion } from '../../evaluation/eval-completion.js';

/** Rules shown of a reward. */
const SHOWN = 4;

/**
 * Why wrong answers were wrong: the rules that decided over them, the most frequent first, one line per reward.
 *
 * @returns no lines where the task cannot tell right from wrong, or where no reward names its rules
 */
export function wrongRules(completions: readonly EvalCompletion[]): string[] {
  const counts = new Map<string, Map<string, number>>();
  for (const { correct, reward_rules = {} } of completions) {
    if (correct !== false) continue;
    for (const [reward, rule] of Object.entries(reward_rules)) {
      const byRule = counts.get(reward) ?? new Map<string, number>();
      counts.set(reward, byRule.set(rule, (byRule.get(rule) ?? 0) + 1));
    }
  }
  return [...counts].map(([reward, byRule]) => {
    const ordered = [...byRule].sort((a, b) => b[1] - a[1]);
    const shown = ordered.slice(0, SHOWN).map(([rule, count]) => `${rule} (${count})`);
    const rest = ordered.length - shown.length;
    return `  ${reward}: ${[...shown, ...(rest > 0 ? [`${rest} more rules`] : [])].join(', ')}`;
  });
}
