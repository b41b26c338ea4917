/** Whether the arrays of a record fit together. */
import { sum } from '../maths/moments.js';
import type { MaskPlansRecord } from './diffusion.js';
import type { StepRecord, UpdateRecord } from './record.js';

const PER_TOKEN = [
  'policyLogprobs',
  'entropies',
  'ratios',
  'policyTerms',
  'klTerms',
  'weights',
  'klWeights',
  'mask',
  'oldLogprobs',
  'referenceLogprobs',
] as const;

/** The first array whose length contradicts another's, or that names what is not there, in words; undefined when all fit. */
export function shapeProblem(record: StepRecord): string | undefined {
  const { prompts, completions, scored, rewards, diffusion } = record;
  const plans = diffusion?.plans ?? [];
  const negative = lengthLists(record).find(([, lengths]) => lengths?.some((length) => length < 0));
  if (negative) return `${negative[0]} has a negative value`;
  const [P, promptRules] = agree(
    ['lengths', 'scoredLengths', 'texts', 'messages', 'rows', 'answers', 'spans', 'replayed'].map((key) =>
      list(`prompts.${key}`, prompts?.[key as keyof typeof prompts]),
    ),
  );
  const [B, completionRules] = agree([
    ...['lengths', 'prompt', 'texts', 'sampledTexts', 'finish'].map((key) =>
      list(`completions.${key}`, completions?.[key as keyof typeof completions]),
    ),
    list('scored.lengths', scored?.lengths),
    list('diffusion.widths', record.diffusion?.widths),
    ...plans.map(({ views }, i) => list(`diffusion.plans.${i}.views`, views)),
    list('advantages', record.advantages),
    list('rewards.totals', rewards?.totals),
    list('rewards.providers', rewards?.providers),
    list('rewards.replies', rewards?.replies),
    ...(rewards?.parts ?? []).map(({ values }, i) => list(`rewards.parts.${i}.values`, values)),
    ...(rewards?.rules ?? []).map((rules, i) => list(`rewards.rules.${i}`, rules)),
  ]);
  const [K, rewardRules] = agree([
    list('rewards.names', rewards?.names),
    list('rewards.weights', rewards?.weights),
    list('rewards.rules', rewards?.rules),
  ]);
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
    ...perToken('prompts', { ids: prompts?.ids }, 'lengths', prompts?.lengths),
    ...perToken('prompts', { scoredIds: prompts?.scoredIds }, 'scoredLengths', prompts?.scoredLengths),
    ...perToken(
      'completions',
      pick(completions, ['ids', 'source', 'samplerLogprobs', 'sampledLogprobs']),
      'lengths',
      completions?.lengths,
    ),
    ...perToken(
      'scored',
      pick(scored, ['ids', 'mask', 'oldLogprobs', 'referenceLogprobs']),
      'lengths',
      scored?.lengths,
    ),
    ...perToken('diffusion', pick(diffusion, ['region', 'order']), 'widths', diffusion?.widths),
    ...plans.flatMap((plan, i) => planRules(record, plan, `diffusion.plans.${i}`)),
    ...(record.updates ?? []).flatMap((update, i) => updateRules(record, update, `updates.${i}`)),
  ];
  return (
    strayIndex(record, P?.count, B?.count) ??
    rules
      .filter(({ found, expected }) => found !== undefined && expected !== undefined && found !== expected)
      .map(({ name, found, of, expected }) => `${name} has ${found} values, ${of} has ${expected}`)[0]
  );
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
const list = (name: string, value: unknown): List => ({ name, count: lengthOf(value) });
const total = (lengths: Int32Array | undefined) => lengths && sum(lengths);

const lengthLists = ({ prompts, completions, scored, diffusion }: StepRecord) =>
  [
    ['diffusion.widths', diffusion?.widths],
    ...(diffusion?.plans ?? []).map(({ views }, i) => [`diffusion.plans.${i}.views`, views] as const),
    ['prompts.lengths', prompts?.lengths],
    ['prompts.scoredLengths', prompts?.scoredLengths],
    ['completions.lengths', completions?.lengths],
    ['scored.lengths', scored?.lengths],
  ] as const;

function pick<T extends object, K extends keyof T>(holder: T | undefined, keys: readonly K[]): Partial<T> {
  return Object.fromEntries(keys.map((key) => [key, holder?.[key]])) as Partial<T>;
}

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

/** Arrays that have an element for each token of rows of these lengths. */
function perToken(part: string, arrays: object, of: string, lengths: Int32Array | undefined): Rule[] {
  return Object.entries(arrays).map(([key, values]) => ({
    name: `${part}.${key}`,
    found: lengthOf(values),
    of: `the sum of ${part}.${of}`,
    expected: total(lengths),
  }));
}

/** Weights and hidden places have an element for each pass, and for each place of each pass. */
function planRules(
  { prompts, completions, diffusion }: StepRecord,
  { views, weights, prompt, region }: MaskPlansRecord,
  name: string,
): Rule[] {
  const { prompt: promptOf } = completions ?? {};
  const lengths = prompts?.scoredLengths ?? prompts?.lengths;
  const widths = diffusion?.widths;
  const places = (own: (b: number) => number | undefined) =>
    views.reduce((all, count, b) => all + count * (own(b) ?? 0), 0);
  const of = `the passes of ${name}.views`;
  return [
    { name: `${name}.weights`, found: weights.length, of, expected: sum(views) },
    {
      name: `${name}.prompt`,
      found: prompt.length,
      of,
      expected: promptOf && lengths && places((b) => lengths[promptOf[b]!]),
    },
    { name: `${name}.region`, found: region.length, of, expected: widths && places((b) => widths[b]) },
  ];
}

function updateRules({ scored, completions }: StepRecord, update: UpdateRecord, name: string): Rule[] {
  const lengths = scored?.lengths ?? completions?.lengths;
  const expected = update.completions
    ? lengths && [...update.completions].reduce((sum, b) => sum + (lengths[b] ?? 0), 0)
    : total(lengths);
  const sizes = update.microBatches?.sizes;
  return [
    ...PER_TOKEN.map((key) => ({
      name: `${name}.${key}`,
      found: update[key]?.length,
      of: 'the scored tokens of its completions',
      expected,
    })),
    {
      name: `the sum of ${name}.microBatches.sizes`,
      found: sizes?.reduce((sum, size) => sum + size, 0),
      of: 'its completions',
      expected: update.completions?.length ?? lengths?.length,
    },
  ];
}

/** An index of a prompt or completion that is not there, in words. */
function strayIndex(
  { completions, rewards, updates = [] }: StepRecord,
  P: number | undefined,
  B: number | undefined,
): string | undefined {
  const isOutside = (count: number | undefined) => (index: number) =>
    index < 0 || index >= (count ?? Infinity);
  const prompt = completions?.prompt?.find(isOutside(P));
  if (prompt !== undefined) return `completions.prompt names prompt ${prompt} of ${P ?? 'none'}`;
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
