import type { TokenSets } from '../formats/token-sets.js';
import type { Decoder } from '../models/index.js';
import { inputOf, type MaskedCompletion, type ScoredGroup } from '../objective/index.js';
import { Watch } from '../progress/watch.js';
import { withinMemory } from '../rollout/index.js';
import type { PassProgress } from './training-pass.js';

/** Anything that is tokens: a rendered prompt, a completion. */
interface Tokens {
  ids: readonly number[];
}

/** Tokens that are scored, with the ids that each could have been drawn from where not all could. */
interface ScoredTokens extends Tokens {
  support?: TokenSets;
}

/** P prompts and their B completions, the same number of each, prompt after prompt. */
export interface Groups {
  prompts: readonly Tokens[];
  completions_B: readonly ScoredTokens[];
  /** For a masked-diffusion model: how each completion is hidden. */
  masked_B?: readonly MaskedCompletion[] | undefined;
}

/** Completions that are computed together. */
export interface MicroBatch {
  groups: ScoredGroup[];
  /** Places of these completions among the B. */
  members: number[];
  /** Number of completions. */
  count: number;
  /** Tokens that its passes compute, what completions of a prompt share counted once. */
  size: number;
}

/**
 * Does `work` for all completions of the chosen prompts, in micro-batches of about `train.microBatchTokens` tokens,
 * or of fewer where memory is short.
 *
 * @param limits - `tokens` is `train.microBatchTokens`; completions of which `apart` differs are not computed together;
 *   `stage` is the name of the work for `watch`
 * @param work - must leave nothing behind when it throws, unless `restart` clears that away
 * @param restart - begins again, after memory ran out
 * @throws Abandoned
 */
export async function eachMicroBatch(
  decoder: Decoder,
  groups: Groups,
  chosen: readonly number[],
  limits: { tokens: number; stage: string; watch?: Watch; apart?: ((b: number) => string) | undefined },
  work: (micro: MicroBatch, tell: PassProgress) => void,
  restart?: () => void,
): Promise<void> {
  const members = membersOf(groups, chosen);
  const { tokens, apart, stage, watch = new Watch() } = limits;
  const progress = { stage, done: 0, total: members.length, unit: 'completions', tokens: 0 };
  const tell = ({ count, size }: MicroBatch, share: number) =>
    watch.report({
      ...progress,
      tokens: progress.tokens + share * size,
      share: (progress.done + share * count) / members.length,
    });
  const bound = {
    unit: 'tokens',
    setting: 'train.microBatchTokens',
    configured: tokens,
    model: decoder,
  };
  const again =
    restart &&
    (() => {
      restart();
      Object.assign(progress, { done: 0, tokens: 0 });
    });
  // Micro-batches keep to their bound when memory is short.
  const take = (from: number, budget: number) =>
    microBatchAt(groups, members, from, budget, { slack: budget < tokens ? 1 : WHOLE, apart });
  const run = async (micro: MicroBatch) => {
    tell(micro, 0);
    work(micro, (share) => tell(micro, share));
    progress.done += micro.count;
    progress.tokens += micro.size;
    await watch.breathe();
  };
  await withinMemory(bound, members.length, take, run, again);
}

/** The completions of some prompts. */
export function membersOf({ prompts, completions_B }: Groups, chosen: readonly number[]): number[] {
  const size = completions_B.length / prompts.length;
  return chosen.flatMap((p) => Array.from({ length: size }, (_, i) => p * size + i));
}

/**
 * A group of up to so many times the budget is not cut: its prompt would be computed again for each part. Nor does it end
 * a micro-batch that has room for such a part of it.
 */
const WHOLE = 2;

/**
 * The micro-batch of about `budget` tokens that begins with the member at `from`, each prompt counted once. A completion
 * that exceeds the budget with its prompt alone gets a micro-batch of its own.
 *
 * @param slack - a group of at most so many times the budget is not cut, and taken where such a part of it fits
 * @param apart - members of which it differs are not in one micro-batch
 */
export function microBatchAt(
  groups: Groups,
  members: readonly number[],
  from: number,
  budget: number,
  { slack = WHOLE, apart = () => '' }: { slack?: number; apart?: ((b: number) => string) | undefined } = {},
): MicroBatch {
  const { prompts, completions_B, masked_B } = groups;
  const size = completions_B.length / prompts.length;
  const groupOf = (b: number) => Math.floor(b / size);
  const micro: MicroBatch = { groups: [], members: [], count: 0, size: 0 };
  for (let i = from; i < members.length; ) {
    const p = groupOf(members[i]!);
    const { shared, of: costOf } = passCost(groups, p);
    const rest = members.slice(i, i + size).filter((b) => groupOf(b) === p);
    const whole = rest.reduce((sum, b) => sum + costOf(b), shared);
    const isKept = whole <= slack * budget;
    // With half of a group the micro-batch comes nearer to its budget than without the group.
    const least = isKept ? whole / slack : shared + costOf(rest[0]!);
    if (micro.count > 0 && micro.size + least > budget) break;
    if (micro.count > 0 && apart(members[i]!) !== apart(micro.members[0]!)) break;
    const room = isKept ? whole : budget - micro.size;
    const taken = fitting(rest.map(costOf), room - shared);
    const fittingMembers = rest.slice(0, taken);
    micro.groups.push({
      prompt: prompts[p]!.ids,
      completions: fittingMembers.map((b) => completions_B[b]!.ids),
      ...(masked_B && { masked: fittingMembers.map((b) => masked_B[b]!) }),
      ...supportOf(fittingMembers.map((b) => completions_B[b]!)),
    });
    micro.members.push(...fittingMembers);
    micro.count += taken;
    micro.size += fittingMembers.reduce((sum, b) => sum + costOf(b), shared);
    i += taken;
    if (taken < rest.length) break;
  }
  return micro;
}

/** The supports of some completions; a stage of one's own that changes the tokens leaves them without. */
export function supportOf(completions: readonly ScoredTokens[]): Pick<ScoredGroup, 'support'> {
  const support = completions.map(({ ids, support: own }) => (own?.length === ids.length ? own : undefined));
  return support.some((own) => own) ? { support } : {};
}

/** Tokens that the passes over a whole group compute. */
export function tokensOf(groups: Groups, p: number): number {
  const { shared, of: costOf } = passCost(groups, p);
  return membersOf(groups, [p]).reduce((sum, b) => sum + costOf(b), shared);
}

/** Tokens that the passes over a group compute: once for all of its completions, and for each by itself. */
interface PassCost {
  shared: number;
  of(b: number): number;
}

const passCosts = new WeakMap<Groups, Map<number, PassCost>>();

/**
 * What the passes over a group cost. A causal model shares the prompt, a masked-diffusion model the passes that see the
 * same of every completion; these are compared once, however often the group is cut.
 */
function passCost(groups: Groups, p: number): PassCost {
  const { prompts, completions_B, masked_B } = groups;
  if (!masked_B) return { shared: prompts[p]!.ids.length, of: (b) => completions_B[b]!.ids.length };
  const known = passCosts.get(groups) ?? new Map<number, PassCost>();
  passCosts.set(groups, known);
  const cost = known.get(p) ?? maskedCost(prompts[p]!.ids, masked_B, membersOf(groups, [p]));
  known.set(p, cost);
  return cost;
}

function maskedCost(
  prompt: readonly number[],
  masked_B: readonly MaskedCompletion[],
  members: readonly number[],
): PassCost {
  const inputs = members.map((b) => {
    const { region, plan } = masked_B[b]!;
    return new Set(plan.map((view) => inputOf(prompt, region, view, HIDDEN).join()));
  });
  const shared = [...inputs[0]!].filter((input) => inputs.every((own) => own.has(input))).length;
  const lengthOf = (b: number) => prompt.length + masked_B[b]!.region.length;
  const own = new Map(members.map((b, i) => [b, (inputs[i]!.size - shared) * lengthOf(b)]));
  return { shared: shared * lengthOf(members[0]!), of: (b) => own.get(b)! };
}

/** Stands for the id of the mask where inputs are compared. */
const HIDDEN = -1;

/** How many of the costs, from the first on, fit into the room together; at least the first, with what costs nothing more. */
function fitting(costs: readonly number[], room: number): number {
  const most = Math.max(room, costs[0]!);
  let sum = 0;
  const beyond = costs.findIndex((cost) => {
    sum += cost;
    return sum > most;
  });
  return beyond < 0 ? costs.length : beyond;
}
