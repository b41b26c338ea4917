import type { MetricsRow } from './metrics.js';

const PATIENCE = 3;

/** Notices when a run has nothing to learn from: step after step, no group with two different rewards. */
export class SignalWatch {
  #silent = 0;

  /** What to say after a step, once for each such stretch; undefined when there is nothing to say. */
  after(row: MetricsRow): string | undefined {
    this.#silent = row.frac_reward_zero_std === 1 ? this.#silent + 1 : 0;
    if (this.#silent !== PATIENCE) return undefined;
    const cut = (100 * row['completions/clipped_ratio']!).toFixed(0);
    return (
      `Nothing to learn from: for ${PATIENCE} steps no group has had two different rewards, so all advantages are 0. ` +
      `The mean reward is ${row.reward!.toFixed(3)}, and ${cut}% of the completions are cut at rollout.maxNewTokens. ` +
      'Read some of them in completions.jsonl.'
    );
  }
}
