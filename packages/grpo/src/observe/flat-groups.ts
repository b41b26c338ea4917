import type { MetricsRow } from './metrics.js';

const PATIENCE = 3;

/** Notices when a run has nothing to learn from: step after step, no group with two different rewards. */
export class FlatGroupsWatch {
  #silent = 0;

  /** The message after a step, once for each such stretch; undefined when there is none. */
  after(row: MetricsRow): string | undefined {
    const flat = row.frac_reward_zero_std === 1 && !row.groups_refilled && !row.groups_replayed;
    this.#silent = flat ? this.#silent + 1 : 0;
    if (this.#silent !== PATIENCE) return undefined;
    const cut = (100 * row['completions/clipped_ratio']!).toFixed(0);
    const mean = Number.isNaN(row.reward)
      ? 'No completion has a reward'
      : `The mean reward is ${row.reward!.toFixed(3)}`;
    return (
      `Nothing to learn from: for ${PATIENCE} steps no group has had two different rewards, so all advantages are 0. ` +
      `${mean}, and ${cut}% of the completions are cut at rollout.maxNewTokens. ` +
      'Read some of them in completions.jsonl.'
    );
  }
}

/** Says once per run that refilling left groups without a difference in reward. */
export class RefillWatch {
  #said = false;

  /** @param refills - rounds that a step may take */
  constructor(private readonly refills: number) {}

  /** The message after a step; undefined when there is none. */
  after({ step, groups_flat: flat = 0 }: MetricsRow): string | undefined {
    if (this.#said || this.refills === 0 || flat === 0) return undefined;
    this.#said = true;
    return (
      `step ${step}: after groups.refills=${this.refills} rounds of refilling, ${flat} of the groups still have no ` +
      'difference in reward; they stay in the batch, as advantage.flat says. For later steps see groups_flat in metrics.jsonl.'
    );
  }
}
