import { uniform } from '../maths/random.js';
import { Batch, type StoredGroup } from './batch.js';
import { groupsOf } from './groups.js';
import type { StepObserver } from './observer.js';

/** Draws from the store have a stream of their own. */
const REPLAY_STREAM = -2;

/** Groups whose rewards differ, to take the place of later ones whose rewards do not. */
export class ReplayStore implements StepObserver {
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

  /** Takes in those groups of a step that it sampled itself and whose rewards differ. */
  done(batch: Batch, step: number): void {
    const { advantages, exchange, old_B } = batch;
    const left = [...(exchange?.flat ?? []), ...(exchange?.replayed.keys() ?? [])];
    for (const [p, group] of groupsOf(batch).entries()) {
      const [from, to] = [p * batch.groupSize, (p + 1) * batch.groupSize];
      const groupAdvantages = advantages.advantages.subarray(from, to);
      const score =
        groupAdvantages.reduce((sum, advantage) => sum + Math.abs(advantage), 0) * advantages.deviations[p]!;
      if (score === 0 || left.includes(p)) continue;
      // The sampler's own are in the group already.
      const isComputed = old_B && old_B[from] !== batch.behaviorLogprobs_B[from];
      const old = isComputed ? old_B.slice(from, to) : undefined;
      // Failures were reported when the group was sampled.
      const rewardTable = { ...group.rewardTable, failures: [] };
      this.#keep({ group: new Batch({ ...group, rewardTable }), old, step, score });
    }
  }

  /** Stores a group. A full store drops the group that teaches least, of several the oldest. */
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
