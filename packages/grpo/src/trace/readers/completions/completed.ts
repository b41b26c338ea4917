import { sum } from '../../../maths/moments.js';
import type { Declared } from '../../declared.js';
import { RECORD_VERSION, type StepRecord } from '../../record.js';

/** One completion as some file has it. What it does not have is missing. */
export interface CompletedRow {
  prompt?: string;
  messages?: unknown[];
  promptIds?: number[];
  text?: string;
  ids?: number[];
  /** 1 where a token enters the loss; as long as `ids`. */
  mask?: number[];
  samplerLogprobs?: number[];
  oldLogprobs?: number[];
  referenceLogprobs?: number[];
  policyLogprobs?: number[];
  /** Of each reward function; NaN where it gave none. */
  rewards: Record<string, number>;
  /** Rule that decided each reward. */
  rules?: Record<string, string>;
  total?: number;
  advantage?: number;
  finish?: string;
  /** Tokens of the completion. */
  length?: number;
  answer?: string;
  provider?: string;
  reply?: string;
  /** What completions of one prompt have in common. */
  group?: string;
}

export interface TableContext {
  producer: StepRecord['producer'];
  declared?: Declared;
  /** Completions of a prompt, where equal prompts may be neighbours. */
  groupSize?: number;
  /** Whether the weights are known to be 1, so that rewards add up to the total. */
  plainSum?: boolean;
}

/** The record that the completions of one step make. */
export function recordOf(step: number, rows: readonly CompletedRow[], context: TableContext): StepRecord {
  const { producer, declared } = context;
  const groups = groupsOf(rows, context.groupSize);
  const firsts = groups && [...new Set(groups)].map((group) => rows[groups.indexOf(group)]!);
  const scored = scoredOf(rows);
  const update = updateOf(rows);
  const advantages = numbersOf(rows, 'advantage');
  return {
    format: 'grpo-step',
    version: RECORD_VERSION,
    step,
    producer,
    ...(declared && { declared }),
    ...(firsts && { prompts: promptsOf(firsts) }),
    completions: completionsOf(rows, groups),
    ...(scored && { scored }),
    rewards: rewardsOf(rows, context),
    ...(advantages && { advantages }),
    ...(update && { updates: [update] }),
  };
}

/** What every row has, or undefined. */
function allOf<K extends keyof CompletedRow>(
  rows: readonly CompletedRow[],
  key: K,
): NonNullable<CompletedRow[K]>[] | undefined {
  const values = rows.map((row) => row[key]);
  return values.every((value) => value !== undefined)
    ? (values as NonNullable<CompletedRow[K]>[])
    : undefined;
}

const numbersOf = (rows: readonly CompletedRow[], key: 'advantage' | 'total') => {
  const values = allOf(rows, key);
  return values && Float64Array.from(values);
};

const lengthsOf = (lists: readonly (readonly number[])[]) => Int32Array.from(lists, (list) => list.length);

/** The prompt that each belongs to: by its mark, else neighbours with equal prompts, in groups of the known size. */
function groupsOf(rows: readonly CompletedRow[], size: number | undefined): number[] | undefined {
  const marks = allOf(rows, 'group');
  if (marks) {
    const numbers = new Map([...new Set(marks)].map((mark, i) => [mark, i]));
    return marks.map((mark) => numbers.get(mark)!);
  }
  const prompts = rows.map(promptKey);
  if (prompts.some((prompt) => prompt === undefined)) return undefined;
  let group = -1;
  let run = 0;
  return prompts.map((prompt, b) => {
    const begins = prompt !== prompts[b - 1] || run === size;
    run = begins ? 1 : run + 1;
    group += Number(begins);
    return group;
  });
}

/** What tells prompts apart. */
export const promptKey = ({ prompt, messages, promptIds }: CompletedRow): string | undefined =>
  prompt ?? (messages && JSON.stringify(messages)) ?? promptIds?.join();

function promptsOf(firsts: readonly CompletedRow[]): NonNullable<StepRecord['prompts']> {
  const texts = allOf(firsts, 'prompt');
  const messages = allOf(firsts, 'messages');
  const ids = allOf(firsts, 'promptIds');
  const answers = firsts.some(({ answer }) => answer !== undefined);
  return {
    ...(texts && { texts }),
    ...(messages && { messages }),
    ...(ids && { ids: Int32Array.from(ids.flat()), lengths: lengthsOf(ids) }),
    ...(answers && { answers: firsts.map(({ answer }) => answer ?? null) }),
  };
}

function completionsOf(
  rows: readonly CompletedRow[],
  groups: readonly number[] | undefined,
): NonNullable<StepRecord['completions']> {
  const texts = allOf(rows, 'text');
  const finish = allOf(rows, 'finish');
  const ids = allOf(rows, 'ids');
  const logprobs = ids && perToken(rows, 'samplerLogprobs');
  const lengths = ids ? lengthsOf(ids) : allOf(rows, 'length');
  return {
    ...(groups && { prompt: Int32Array.from(groups) }),
    ...(texts && { texts }),
    ...(finish && { finish }),
    ...(ids && { ids: Int32Array.from(ids.flat()) }),
    ...(lengths && { lengths: Int32Array.from(lengths) }),
    ...(logprobs && { samplerLogprobs: logprobs }),
  };
}

/** Lists that are as long as their completion, one after another. */
function perToken(
  rows: readonly CompletedRow[],
  key: 'samplerLogprobs' | 'oldLogprobs' | 'referenceLogprobs' | 'policyLogprobs',
): Float32Array | undefined {
  const lists = allOf(rows, key);
  return lists?.every((list, b) => list.length === rows[b]!.ids?.length)
    ? Float32Array.from(lists.flat())
    : undefined;
}

/** The ids that were scored are left out: the file has one list, and it would be compared with itself. */
function scoredOf(rows: readonly CompletedRow[]): StepRecord['scored'] {
  const ids = allOf(rows, 'ids');
  if (!ids) return undefined;
  const masks = allOf(rows, 'mask');
  const mask = masks?.every((one, b) => one.length === ids[b]!.length) ? masks : undefined;
  const old = perToken(rows, 'oldLogprobs');
  const reference = perToken(rows, 'referenceLogprobs');
  if (!mask && !old && !reference && !perToken(rows, 'policyLogprobs')) return undefined;
  return {
    lengths: lengthsOf(ids),
    ...(mask && { mask: Uint8Array.from(mask.flat(), (value) => Number(value !== 0)) }),
    ...(old && { oldLogprobs: old }),
    ...(reference && { referenceLogprobs: reference }),
  };
}

function updateOf(rows: readonly CompletedRow[]) {
  const policyLogprobs = perToken(rows, 'policyLogprobs');
  return policyLogprobs && { policyLogprobs };
}

function rewardsOf(
  rows: readonly CompletedRow[],
  { plainSum, declared }: TableContext,
): NonNullable<StepRecord['rewards']> {
  const names = [...new Set(rows.flatMap(({ rewards }) => Object.keys(rewards)))];
  const values = Float64Array.from(
    names.flatMap((name) => rows.map(({ rewards }) => rewards[name] ?? Number.NaN)),
  );
  // Rewards were compared without a KL that the rows lack.
  const lacksPenalty = declared?.kl?.place === 'reward' && !names.includes('kl_penalty');
  const told = lacksPenalty ? undefined : numbersOf(rows, 'total');
  const totals = told ?? (plainSum && names.length > 0 ? sums(rows) : undefined);
  const providers = allOf(rows, 'provider');
  const replies = rows.some(({ reply }) => reply !== undefined);
  return {
    ...(names.length > 0 && { names, values }),
    ...(rows.some(({ rules }) => rules) && {
      rules: names.map((name) => rows.map(({ rules }) => rules?.[name] ?? null)),
    }),
    ...(plainSum && names.length > 0 && { weights: names.map(() => 1) }),
    ...(totals && { totals }),
    ...(providers && { providers }),
    ...(replies && { replies: rows.map(({ reply }) => reply ?? null) }),
  };
}

/** What has no value adds nothing; a completion without any has no total. */
function sums(rows: readonly CompletedRow[]): Float64Array {
  return Float64Array.from(rows, ({ rewards }) => {
    const known = Object.values(rewards).filter((value) => !Number.isNaN(value));
    return known.length > 0 ? sum(known) : Number.NaN;
  });
}
