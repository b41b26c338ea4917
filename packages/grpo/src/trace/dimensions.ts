/** The dimensions of a record's arrays: by them a reader checks lengths, and cuts a record to some completions. */
import { sum } from '../maths/moments.js';
import type { MaskPlansRecord } from './diffusion.js';
import type { StepRecord, UpdateRecord } from './record.js';

/** Lists with an element per prompt, per completion or per reward; `*` is any place of a list. */
export const LISTS = {
  prompt: [
    'prompts.lengths',
    'prompts.scoredLengths',
    'prompts.texts',
    'prompts.messages',
    'prompts.rows',
    'prompts.answers',
    'prompts.spans',
    'prompts.replayed',
  ],
  completion: [
    'completions.lengths',
    'completions.prompt',
    'completions.texts',
    'completions.sampledTexts',
    'completions.finish',
    'completions.server',
    'completions.weightVersions',
    'completions.support.sizes',
    'scored.lengths',
    'diffusion.widths',
    'diffusion.plans.*.views',
    'advantages',
    'rewards.totals',
    'rewards.providers',
    'rewards.replies',
    'rewards.parts.*.values',
    'rewards.rules.*',
  ],
  reward: ['rewards.names', 'rewards.weights', 'rewards.rules'],
} as const;

/** The lists of a kind that a record may have, by path. */
export const pathsOf = (record: StepRecord, kind: keyof typeof LISTS): string[] =>
  LISTS[kind].flatMap((path) => {
    const [list, rest] = path.split('.*') as [string, string?];
    return rest === undefined ? [path] : placesOf(record, list).map((i) => `${list}.${i}${rest}`);
  });

function placesOf({ diffusion, rewards }: StepRecord, list: string): number[] {
  const lists: Record<string, readonly unknown[] | undefined> = {
    'diffusion.plans': diffusion?.plans,
    'rewards.parts': rewards?.parts,
    'rewards.rules': rewards?.rules,
  };
  return [...(lists[list] ?? []).keys()];
}

/** An array of rows of unequal lengths, one after another. */
export interface RowArray {
  path: string;
  /** Whether it has a row per prompt or per completion. */
  per: 'prompt' | 'completion';
  /** The prompt or completion of each row; all in their order when missing. */
  members?: ArrayLike<number> | undefined;
  /** Elements of each row; missing where the record does not tell them. */
  lengths: ArrayLike<number> | undefined;
  /** The source of the lengths, in words. */
  of: string;
}

/** Every array of rows that a record may have, those included that it lacks. */
export function rowArrays(record: StepRecord): RowArray[] {
  const { prompts, completions, scored, diffusion, updates = [] } = record;
  const rows = (
    per: RowArray['per'],
    part: string,
    keys: readonly string[],
    of: string,
    lengths: RowArray['lengths'],
  ): RowArray[] =>
    keys.map((key) => ({ path: `${part}.${key}`, per, lengths, of: `the sum of ${part}.${of}` }));
  return [
    ...rows('prompt', 'prompts', ['ids'], 'lengths', prompts?.lengths),
    ...rows('prompt', 'prompts', ['scoredIds'], 'scoredLengths', prompts?.scoredLengths),
    ...rows(
      'completion',
      'completions',
      ['ids', 'source', 'samplerLogprobs', 'sampledLogprobs', 'support.lengths'],
      'lengths',
      completions?.lengths,
    ),
    ...rows('completion', 'completions.support', ['data'], 'sizes', completions?.support?.sizes),
    ...rows(
      'completion',
      'scored',
      ['ids', 'mask', 'oldLogprobs', 'referenceLogprobs'],
      'lengths',
      scored?.lengths,
    ),
    ...rows('completion', 'diffusion', ['region', 'order'], 'widths', diffusion?.widths),
    ...(diffusion?.plans ?? []).flatMap((plan, i) => planRows(record, plan, `diffusion.plans.${i}`)),
    ...updates.flatMap((update, i) => updateRows(record, update, `updates.${i}`)),
  ];
}

/** Weights and hidden places have an element for each pass, and for each place of each pass. */
function planRows({ prompts, completions, diffusion }: StepRecord, plan: MaskPlansRecord, name: string) {
  const { prompt: promptOf } = completions ?? {};
  const promptLengths = prompts?.scoredLengths ?? prompts?.lengths;
  const widths = diffusion?.widths;
  const each = (own: (b: number) => number | undefined) =>
    Array.from(plan.views, (count, b) => count * (own(b) ?? 0));
  const array = (key: keyof MaskPlansRecord, lengths: RowArray['lengths']): RowArray => ({
    path: `${name}.${key}`,
    per: 'completion',
    lengths,
    of: `the passes of ${name}.views`,
  });
  return [
    array('weights', plan.views),
    array('prompt', promptOf && promptLengths && each((b) => promptLengths[promptOf[b]!])),
    array('region', widths && each((b) => widths[b])),
  ];
}

const OF_UPDATES = [
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

function updateRows({ scored, completions }: StepRecord, update: UpdateRecord, name: string): RowArray[] {
  const all = scored?.lengths ?? completions?.lengths;
  const members = update.completions;
  const lengths = members && all ? Int32Array.from(members, (b) => all[b] ?? 0) : all;
  const of = 'the scored tokens of its completions';
  return OF_UPDATES.map((key) => ({ path: `${name}.${key}`, per: 'completion', members, lengths, of }));
}

/** Elements of the whole array. */
export const sizeOf = ({ lengths }: RowArray): number | undefined => lengths && sum(lengths);
