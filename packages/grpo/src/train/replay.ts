import { uniform } from '../maths/random.js';
import type { Rollout, StoredGroup } from './batch.js';
import { groupsOf } from './drawn.js';

/** Draws from the store have a stream of their own. */
const REPLAY_STREAM = -2;

/** Groups whose rewards differ, to take the place of later ones whose rewards do not. */
export class ReplayStore {
  readonly #groups: StoredGroup[] = [];

  /**
   * @param size - most groups that are stored
   * @param groups - those of the run so far, oldest first
   */
  constructor(
    private readonly size: number,
    groups: readonly StoredGroup[] = [],
  ) {
    for (const group of groups) this.#keep(group);
  }

  /** Oldest first. */
  get groups(): readonly StoredGroup[] {
    return this.#groups;
  }

  /**
   * Up to `count` different groups, a group's chance proportional to its score; they stay in the store.
   *
   * @param step - with the seed it fixes the draw
   */
  draw(count: number, seed: number, step: number): StoredGroup[] {
    const left = [...this.#groups];
    return Array.from({ length: Math.min(count, left.length) }, (_, i) => {
      const total = left.reduce((sum, { score }) => sum + score, 0);
      let rest = uniform(seed, step, REPLAY_STREAM, i) * total;
      const place = left.findIndex(({ score }) => {
        rest -= score;
        return rest < 0;
      });
      // Rounding may leave a rest behind the last.
      return left.splice(place, 1)[0]!;
    });
  }

  /**
   * Takes in those groups of a step that it sampled itself and whose rewards differ.
   *
   * @param old_B - log-probs of the policy that sampled by the trainer, where that computed them
   */
  take(rollout: Rollout, old_B: readonly Float32Array[] | undefined, step: number): void {
    const { advantages, exchange } = rollout;
    const left = [...(exchange?.flat ?? []), ...(exchange?.replayed.keys() ?? [])];
    for (const [p, group] of groupsOf(rollout).entries()) {
      const size = group.completions_B.length;
      const own = advantages.advantages.subarray(p * size, (p + 1) * size);
      const score = own.reduce((sum, advantage) => sum + Math.abs(advantage), 0) * advantages.deviations[p]!;
      if (score === 0 || left.includes(p)) continue;
      const old = old_B?.slice(p * size, (p + 1) * size);
      // What failed was told when it was sampled.
      const rewardTable = { ...group.rewardTable, failures: [] };
      this.#keep({ group: { ...group, rewardTable }, old, step, score });
    }
  }

  /** Where the store is full, the group that teaches least goes, of several the oldest. */
  #keep(group: StoredGroup): void {
    this.#groups.push(group);
    if (this.#groups.length <= this.size) return;
    const least = Math.min(...this.#groups.map(({ score }) => score));
    this.#groups.splice(
      this.#groups.findIndex(({ score }) => score === least),
      1,
    );
  }
}
