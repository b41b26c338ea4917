/** Whether the arrays of a record fit together. */
import { sum } from '../maths/moments.js';
import { type LISTS, pathsOf, rowArrays, sizeOf } from './dimensions.js';
import type { StepRecord, UpdateRecord } from './record.js';
import type { WeightProbe } from './servers.js';
import { supportsOf } from './support.js';
import { valueAt } from './value-at.js';

/** The first array whose length contradicts another's, or that names what is not there, in words; undefined when all fit. */
export function shapeProblem(record: StepRecord): string | undefined {
  const { rewards } = record;
  const negative = lengthLists(record).find(([, lengths]) => lengths?.some((length) => length < 0));
  if (negative) return `${negative[0]} has a negative value`;
  const lists = (kind: keyof typeof LISTS) =>
    agree(pathsOf(record, kind).map((path) => ({ name: path, count: lengthOf(valueAt(record, path)) })));
  const [P, promptRules] = lists('prompt');
  const [B, completionRules] = lists('completion');
  const [K, rewardRules] = lists('reward');
  const values: Rule = {
    name: 'rewards.values',
    found: rewards?.values?.length,
    of: 'rewards.names × completions',
    expected: K && B && K.count * B.count,
  };
  const rules = [
    ...promptRules,
    ...completionRules,
    ...rewardRules,
    values,
    ...rowArrays(record).map((array) => ({
      name: array.path,
      found: lengthOf(valueAt(record, array.path)),
      of: array.of,
      expected: sizeOf(array),
    })),
    ...pieceRules(record),
    ...(record.servers ?? []).flatMap(({ probe }, i) =>
      probe ? probeRules(probe, `servers.${i}.probe`) : [],
    ),
    ...(record.updates ?? []).map((update, i) => microBatchRule(record, update, `updates.${i}`)),
  ];
  return (
    strayIndex(record, P?.count, B?.count) ??
    rules
      .filter(({ found, expected }) => found !== undefined && expected !== undefined && found !== expected)
      .map(({ name, found, of, expected }) => `${name} has ${found} values, ${of} has ${expected}`)[0] ??
    supportProblem(record)
  );
}

/** Sets of ids that are damaged, in words. */
function supportProblem(record: StepRecord): string | undefined {
  try {
    supportsOf(record);
    return undefined;
  } catch (error) {
    return `completions.support: ${(error as Error).message}`;
  }
}

interface Rule {
  name: string;
  found: number | undefined;
  of: string;
  expected: number | undefined;
}

interface List {
  name: string;
  count: number | undefined;
}

const lengthOf = (value: unknown) => (value as { length: number } | undefined)?.length;

const lengthLists = ({ tokenizer, prompts, completions, scored, diffusion }: StepRecord) =>
  [
    ['tokenizer.pieces.lengths', tokenizer?.pieces?.lengths],
    ['diffusion.widths', diffusion?.widths],
    ...(diffusion?.plans ?? []).map(({ views }, i) => [`diffusion.plans.${i}.views`, views] as const),
    ['prompts.lengths', prompts?.lengths],
    ['prompts.scoredLengths', prompts?.scoredLengths],
    ['completions.lengths', completions?.lengths],
    ['completions.support.sizes', completions?.support?.sizes],
    ['completions.support.lengths', completions?.support?.lengths],
    ['scored.lengths', scored?.lengths],
  ] as const;

/** Lists of one thing each have as many elements as the first that is there, which is given as well. */
function agree(lists: readonly List[]): [size: { count: number } | undefined, rules: Rule[]] {
  const first = lists.find(({ count }) => count !== undefined);
  if (!first) return [undefined, []];
  const rules = lists.map(({ name, count }) => ({
    name,
    found: count,
    of: first.name,
    expected: first.count,
  }));
  return [{ count: first.count! }, rules];
}

/** Each token has its bytes. */
function pieceRules({ tokenizer }: StepRecord): Rule[] {
  const { ids, bytes, lengths } = tokenizer?.pieces ?? {};
  const part = 'tokenizer.pieces';
  return [
    { name: `${part}.lengths`, found: lengths?.length, of: `${part}.ids`, expected: ids?.length },
    {
      name: `${part}.bytes`,
      found: bytes?.length,
      of: `the sum of ${part}.lengths`,
      expected: lengths && sum(lengths),
    },
  ];
}

/** Each token has its log-probs. */
function probeRules(probe: WeightProbe, part: string): Rule[] {
  const rule = (key: 'trainer' | 'before' | 'cold' | 'warm' | 'rescored', of: 'completion' | 'sampled') => ({
    name: `${part}.${key}`,
    found: probe[key]?.length,
    of: `${part}.${of}`,
    expected: probe[of].length,
  });
  return [
    ...(['trainer', 'before', 'cold'] as const).map((key) => rule(key, 'completion')),
    ...(['warm', 'rescored'] as const).map((key) => rule(key, 'sampled')),
    {
      name: `${part}.sampled`,
      found: probe.sampled.length,
      of: `the sum of ${part}.sampledLengths`,
      expected: sum(probe.sampledLengths),
    },
  ];
}

function microBatchRule({ scored, completions }: StepRecord, update: UpdateRecord, name: string): Rule {
  const sizes = update.microBatches?.sizes;
  return {
    name: `the sum of ${name}.microBatches.sizes`,
    found: sizes && sum(sizes),
    of: 'its completions',
    expected: update.completions?.length ?? (scored?.lengths ?? completions?.lengths)?.length,
  };
}

/** An index of a prompt or completion that is not there, in words. */
function strayIndex(
  { completions, rewards, servers, updates = [] }: StepRecord,
  P: number | undefined,
  B: number | undefined,
): string | undefined {
  const isOutside = (count: number | undefined) => (index: number) =>
    index < 0 || index >= (count ?? Infinity);
  const prompt = completions?.prompt?.find(isOutside(P));
  if (prompt !== undefined) return `completions.prompt names prompt ${prompt} of ${P ?? 'none'}`;
  const server = completions?.server?.find(isOutside(servers?.length));
  if (server !== undefined)
    return `completions.server names server ${server} of ${servers?.length ?? 'none'}`;
  for (const [i, update] of updates.entries()) {
    const completion = update.completions?.find(isOutside(B));
    if (completion !== undefined)
      return `updates.${i}.completions names completion ${completion} of ${B ?? 'none'}`;
  }
  const stray = rewards?.parts?.find(({ reward }) => !(rewards.names ?? []).includes(reward));
  if (stray) return `rewards.parts names the reward ${stray.reward}, which rewards.names does not have`;
  const failed = rewards?.failures?.find((failure) => isOutside(B)(failure.completion ?? 0));
  return failed && `rewards.failures names completion ${failed.completion} of ${B ?? 'none'}`;
}
