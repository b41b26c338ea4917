import { sum } from '../maths/moments.js';
import type { Batch, StoredGroup } from '../step/batch.js';
import type { Trainer } from '../step/trainer.js';
import type { Comparison } from '../trace/index.js';
import type { FollowingMeasure, Measured } from './context.js';
import { declaredDraw } from './order/declared-draw.js';
import { problemOf } from './places.js';
import { textPair } from './text-pair.js';
import { explained, type Pair, worstOf } from './worst.js';

const HAND_OVER = 'choice';

/** Keys of the draws from the store, beside seed and step. */
const STREAM = -2;

/** Relative: scores are sums of the same parts, in float64. */
const ROUNDING = 1e-9;

/**
 * Holds the groups of earlier steps that take the place of flat ones to the draws that the seed declares, and the store
 * after the step to those that teach most.
 */
export class ReplayAudit implements FollowingMeasure {
  readonly #comparisons: Comparison[] = [];
  #before: readonly StoredGroup[] = [];
  #done: { batch: Batch; step: number } | undefined;

  constructor(private readonly trainer: Trainer) {}

  compared(batch: Batch, step: number): void {
    const { replay, config } = this.trainer;
    if (!replay) return;
    // They are taken in after the step.
    this.#before = [...replay.groups];
    const { replayed, flat } = batch.exchange ?? { replayed: new Map<number, StoredGroup>(), flat: [] };
    const draws = drawn(this.#before, replayed.size + flat.length, config.seed, step);
    const nameOf = (one: StoredGroup | undefined) =>
      one ? `group ${this.#before.indexOf(one) + 1}` : 'none';
    const found = [...replayed];
    const pairs = Array.from({ length: Math.max(found.length, draws.length) }, (_, i): Pair => {
      const [prompt, own] = found[i] ?? [];
      return {
        found: nameOf(own),
        plain: nameOf(draws[i]),
        bound: 0,
        ...(prompt !== undefined && { prompt }),
      };
    });
    const places = found.flatMap(([prompt, { group }]) =>
      group.completions_B.map((stored, g): Pair => {
        const completion = prompt * batch.groupSize + g;
        const isThere = batch.completions_B[completion] === stored;
        return { found: isThere ? 'there' : 'another', plain: 'there', bound: 0, completion };
      }),
    );
    const prompts = found.flatMap(([prompt], i): Pair[] => {
      const plain = draws[i]?.group.prompts[0]?.ids;
      return plain ? [{ ...textPair(batch.prompts[prompt]!.ids.join(' '), plain.join(' ')), prompt }] : [];
    });
    const again = drawn(this.#before, found.length, config.seed, step, true);
    const hypothesis = {
      what: 'draws that put each group back before the next',
      pairs: pairs.map((pair, i) => ({ ...pair, plain: nameOf(again[i]) })),
    };
    const [replays] = worstOf(HAND_OVER, 'stored group that is replayed', pairs);
    if (replays) this.#comparisons.push(explained(replays, [hypothesis]));
    this.#add('ids of the prompt of a replayed group', prompts);
    this.#add('completion of a replayed group', places);
  }

  done(batch: Batch, step: number): void {
    this.#done = { batch, step };
  }

  /** The store takes groups in when all that watch the step have heard of its end. */
  get measured(): readonly Measured[] {
    const { replay } = this.trainer;
    if (!replay || !this.#done) return [{ comparisons: this.#comparisons }];
    return [{ comparisons: [...this.#comparisons, ...this.#compareStore(replay.groups, this.#done)] }];
  }

  #compareStore(
    groups: readonly StoredGroup[],
    { batch, step }: { batch: Batch; step: number },
  ): Comparison[] {
    const { config } = this.trainer;
    const fresh = batch.problems.flatMap((_, p) => storedOf(batch, p, step));
    const kept = [...this.#before.map(({ step: from, score }) => ({ from, score }))];
    for (const one of fresh) {
      kept.push(one);
      if (kept.length <= config.groups.replay) continue;
      const least = Math.min(...kept.map(({ score }) => score));
      kept.splice(
        kept.findIndex(({ score }) => score === least),
        1,
      );
    }
    const places = groups.map(({ step: from }) => from + 1).join(' ');
    const scores = groups.map(({ score }, i) => {
      const plain = kept[i]?.score ?? Number.NaN;
      return { found: score, plain, bound: ROUNDING * Math.abs(plain) };
    });
    return [
      ...worstOf(HAND_OVER, 'steps of the stored groups', [
        textPair(places, kept.map(({ from }) => from + 1).join(' ')),
      ]),
      ...worstOf(HAND_OVER, 'score of a stored group', scores),
    ];
  }

  #add(quantity: string, pairs: readonly Pair[]): void {
    this.#comparisons.push(...worstOf(HAND_OVER, quantity, pairs));
  }
}

/** Draws, declared to be without putting back; a group's chance is its share of the scores. */
function drawn(
  groups: readonly StoredGroup[],
  count: number,
  seed: number,
  step: number,
  putsBack = false,
): StoredGroup[] {
  const left = [...groups];
  const draws: StoredGroup[] = [];
  while (draws.length < count && left.length > 0) {
    const bound = declaredDraw(seed, step, STREAM, draws.length) * sum(left.map(({ score }) => score));
    let upTo = 0;
    const place = left.findIndex(({ score }) => {
      upTo += score;
      return upTo > bound;
    });
    const at = place < 0 ? left.length - 1 : place;
    draws.push(left[at]!);
    if (!putsBack) left.splice(at, 1);
  }
  return draws;
}

/** What the store takes of a group that the step sampled: nothing where it teaches nothing. */
function storedOf(batch: Batch, p: number, from: number): { from: number; score: number }[] {
  const { exchange, advantages, rewards_B } = batch;
  if (exchange?.flat.includes(p) || exchange?.replayed.has(p)) return [];
  const own = [...rewards_B.keys()].filter((b) => problemOf(batch, b) === p);
  const size = sum(own.map((b) => Math.abs(advantages.advantages[b]!)));
  return size === 0 ? [] : [{ from, score: size * advantages.deviations[p]! }];
}
