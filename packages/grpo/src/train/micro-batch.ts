import { setImmediate } from 'node:timers/promises';
import type { Decoder } from '../models/index.js';
import type { ScoredGroup } from '../objective/index.js';
import { withinMemory } from '../rollout/index.js';

/** Anything that is tokens: a rendered prompt, a completion. */
interface Tokens {
  ids: readonly number[];
}

/** P prompts and their B completions, the same number of each, prompt after prompt. */
export interface Groups {
  prompts: readonly Tokens[];
  completions_B: readonly Tokens[];
}

/** Completions that are computed together. */
export interface MicroBatch {
  groups: ScoredGroup[];
  /** Where these completions stand among the B. */
  members: number[];
  /** How many they are. */
  count: number;
  /** Tokens, each prompt counted once. */
  size: number;
}

/**
 * Does `work` for all completions of the chosen prompts, in micro-batches of at most `train.microBatchTokens` tokens,
 * or of fewer where memory is short.
 *
 * @param work - must leave nothing behind when it throws
 * @param tokens - `train.microBatchTokens`
 * @returns the number of micro-batches
 */
export async function eachMicroBatch(
  decoder: Decoder,
  groups: Groups,
  chosen: readonly number[],
  tokens: number,
  work: (micro: MicroBatch) => void,
): Promise<number> {
  const members = membersOf(groups, chosen);
  const bound = { setting: 'train.microBatchTokens', configured: tokens, model: decoder };
  let micros = 0;
  const take = (from: number, budget: number) => microBatchAt(groups, members, from, budget);
  await withinMemory(bound, members.length, take, async (micro) => {
    work(micro);
    micros++;
    await setImmediate();
  });
  return micros;
}

/** The completions of some prompts. */
export function membersOf({ prompts, completions_B }: Groups, chosen: readonly number[]): number[] {
  const size = completions_B.length / prompts.length;
  return chosen.flatMap((p) => Array.from({ length: size }, (_, i) => p * size + i));
}

/**
 * The micro-batch of at most `budget` tokens that begins with the member at `from`, each prompt counted once.
 * A completion that exceeds the budget with its prompt alone gets a micro-batch of its own.
 */
export function microBatchAt(
  { prompts, completions_B }: Groups,
  members: readonly number[],
  from: number,
  budget: number,
): MicroBatch {
  const size = completions_B.length / prompts.length;
  const micro: MicroBatch = { groups: [], members: [], count: 0, size: 0 };
  /** A group that fits into a micro-batch is not cut: its prompt would be computed twice. */
  const groupCost = (i: number, p: number) => {
    const rest = members.slice(i, i + size).filter((b) => Math.floor(b / size) === p);
    const whole = rest.reduce((sum, b) => sum + completions_B[b]!.ids.length, prompts[p]!.ids.length);
    return whole <= budget ? whole : prompts[p]!.ids.length + completions_B[members[i]!]!.ids.length;
  };
  let last: number | undefined;
  let completions: (readonly number[])[] = [];
  for (let i = from; i < members.length; i++) {
    const b = members[i]!;
    const p = Math.floor(b / size);
    const prompt = prompts[p]!.ids;
    const completion = completions_B[b]!.ids;
    const cost = completion.length + (p === last ? 0 : prompt.length);
    if (micro.count > 0 && micro.size + (p === last ? cost : groupCost(i, p)) > budget) break;
    if (p !== last) {
      completions = [];
      micro.groups.push({ prompt, completions });
    }
    completions.push(completion);
    micro.members.push(b);
    micro.count++;
    micro.size += cost;
    last = p;
  }
  return micro;
}
