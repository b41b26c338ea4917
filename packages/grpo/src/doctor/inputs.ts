/** What a step record can give to a check, by name: the table that says what is missing. */
import { rowsOf, type StepRecord, supportsOf, type UpdateRecord } from '../trace/index.js';
import { isScoredAsSampled, plansOf } from './measures/mask-plans.js';
import { once, onceOfBoth } from './once.js';

type Values = Int32Array | Float32Array | Uint8Array;

const cut = onceOfBoth((values: Values, lengths: Int32Array): Values[] => rowsOf(values, lengths));

const rows = <A extends Values>(values: A | undefined, lengths: Int32Array | undefined): A[] | undefined =>
  values && lengths && (cut(values, lengths) as A[]);

/** A text for each row of ids, the same for the same ids. */
export const keysOf = once((ids: readonly Int32Array[]): readonly string[] =>
  ids.map(({ buffer, byteOffset, byteLength }) =>
    Buffer.from(buffer, byteOffset, byteLength).toString('latin1'),
  ),
);

interface Input<T> {
  path: string;
  from(record: StepRecord): T | undefined;
  /** What is missing in a record that does not give it; the path when missing. */
  lack?(record: StepRecord): string;
}

const input = <T>(path: string, from: Input<T>['from']): Input<T> => ({ path, from });

/** Where a token's support is kept, the distribution that it was drawn from is the one that is trained. */
const behaviorOf = once(({ completions, declared }: StepRecord): Float32Array[] | undefined => {
  const plain = rows(completions?.samplerLogprobs, completions?.lengths);
  const sizes = completions?.support?.sizes;
  const drawn = rows(completions?.sampledLogprobs, completions?.lengths);
  const { topK = 0, topP = 1, minP = 0, keepSupport = false } = declared?.rollout ?? {};
  // A trainer may score over supports without writing them down.
  if (!sizes) return keepSupport && (topK > 0 || topP < 1 || minP > 0) ? drawn : plain;
  return drawn?.map((row, b) => (sizes[b]! > 0 ? row : (plain?.[b] ?? row)));
});

/** What the trainer's scores should equal, or be drawn from; given only where tokens are scored as they were sampled. */
const comparable = <T>(path: string, from: Input<T>['from']): Input<T> => ({
  path,
  from: (record) => (isScoredAsSampled(record) ? from(record) : undefined),
  lack: (record) =>
    isScoredAsSampled(record)
      ? path
      : 'log-probs under the distribution that was sampled from: those of a masked-diffusion model are estimates',
});

/** Rows are one array per prompt or per completion. */
export const inputs = {
  declared: input('declared', (r) => r.declared),
  groupSize: input('declared.rollout.group', (r) => r.declared?.rollout?.group),
  tokenizer: input('tokenizer', (r) => r.tokenizer),
  bosId: input('tokenizer.bosId', (r) => r.tokenizer?.bosId),
  expectedBos: input('tokenizer.expectedBos', (r) => r.tokenizer?.expectedBos),
  padId: input('tokenizer.padId', (r) => r.tokenizer?.padId),
  endIds: input('tokenizer.endIds', (r) => r.tokenizer?.endIds),

  messages: input('prompts.messages', (r) => r.prompts?.messages),
  promptTexts: input('prompts.texts', (r) => r.prompts?.texts),
  assistantHeader: input('prompts.assistantHeader', (r) => r.prompts?.assistantHeader),
  afterAnswer: input('prompts.afterAnswer', (r) => r.prompts?.afterAnswer),
  answers: input('prompts.answers', (r) => r.prompts?.answers),
  /** Rows. */
  promptIds: input('prompts.ids', (r) => rows(r.prompts?.ids, r.prompts?.lengths)),
  /** Rows. */
  scoredPromptIds: input('prompts.scoredIds', (r) => rows(r.prompts?.scoredIds, r.prompts?.scoredLengths)),

  /** Index of the prompt of each completion. */
  promptOf: input('completions.prompt', (r) => r.completions?.prompt),
  texts: input('completions.texts', (r) => r.completions?.texts),
  sampledTexts: input('completions.sampledTexts', (r) => r.completions?.sampledTexts),
  finish: input('completions.finish', (r) => r.completions?.finish),
  lengths: input('completions.lengths', (r) => r.completions?.lengths),
  /** Rows. */
  ids: input('completions.ids', (r) => rows(r.completions?.ids, r.completions?.lengths)),
  /** Rows. */
  sources: input('completions.source', (r) => rows(r.completions?.source, r.completions?.lengths)),
  /** Rows. */
  samplerLogprobs: input('completions.samplerLogprobs', (r) =>
    rows(r.completions?.samplerLogprobs, r.completions?.lengths),
  ),
  /** Rows: the sampler's log-probs of the distribution that is trained, over the support of each token where it is kept. */
  behaviorLogprobs: input('completions.samplerLogprobs', (r) => behaviorOf(r)),
  /** Rows: the same, where the trainer's should equal them. */
  comparableLogprobs: comparable('completions.samplerLogprobs', (r) => behaviorOf(r)),
  /** The ids that each token could have been drawn from, by completion; undefined for one drawn from all. */
  supports: input('completions.support', once(supportsOf)),
  /** Rows. */
  sampledLogprobs: input('completions.sampledLogprobs', (r) =>
    rows(r.completions?.sampledLogprobs, r.completions?.lengths),
  ),

  weightVersions: input('completions.weightVersions', (r) => r.completions?.weightVersions),
  servers: input('servers', (r) => r.servers),

  scoredLengths: input('scored.lengths', (r) => r.scored?.lengths),
  /** Rows. */
  scoredIds: input('scored.ids', (r) => rows(r.scored?.ids, r.scored?.lengths)),
  /** Rows. */
  masks: input('scored.mask', (r) => rows(r.scored?.mask, r.scored?.lengths)),
  /** Rows. */
  oldLogprobs: input('scored.oldLogprobs', (r) => rows(r.scored?.oldLogprobs, r.scored?.lengths)),
  /** Rows. */
  referenceLogprobs: input('scored.referenceLogprobs', (r) =>
    rows(r.scored?.referenceLogprobs, r.scored?.lengths),
  ),

  rewards: input('rewards', (r) => r.rewards),
  rewardNames: input('rewards.names', (r) => r.rewards?.names),
  rewardWeights: input('rewards.weights', (r) => r.rewards?.weights),
  /** `[K × B]` */
  rewardValues: input('rewards.values', (r) => r.rewards?.values),
  totals: input('rewards.totals', (r) => r.rewards?.totals),
  advantages: input('advantages', (r) => r.advantages),

  updates: input('updates', (r) => (r.updates?.length ? r.updates : undefined)),
  firstUpdate: input('updates.0', (r) => r.updates?.[0]),
  /** Rows of the completions of the first update, when the weights were still those that sampled. */
  firstPolicyLogprobs: input('updates.0.policyLogprobs', (r) =>
    updateRows(r, r.updates?.[0], 'policyLogprobs'),
  ),
  /** Rows of the completions of the first update: of the distributions that their tokens were sampled from. */
  comparableEntropies: comparable('updates.0.entropies', (r) => updateRows(r, r.updates?.[0], 'entropies')),

  diffusion: input('diffusion', (r) => r.diffusion),
  /** Rows. */
  regions: input('diffusion.region', (r) => rows(r.diffusion?.region, r.diffusion?.widths)),
  /** Rows. */
  orders: input('diffusion.order', (r) => rows(r.diffusion?.order, r.diffusion?.widths)),
  /** Passes over each completion, by iteration. */
  plans: input('diffusion.plans', plansOf),

  probes: input('probes', (r) => r.probes),
  audit: input('audit', (r) => r.audit),
  stages: input('stages', (r) => r.stages),
  /** The same completions as rows of another file. */
  rows: input('rows', (r) => r.rows),
};

export type InputName = keyof typeof inputs;

/** Every input as it is when it is there. */
export type Inputs = { [N in InputName]: NonNullable<ReturnType<(typeof inputs)[N]['from']>> };

const listOf = once((completions: Int32Array): readonly number[] => Array.from(completions));
const allOf = once((lengths: Int32Array): readonly number[] => [...lengths.keys()]);

/** The completions of an update. */
export function membersOf(record: StepRecord, update: UpdateRecord): readonly number[] {
  if (update.completions) return listOf(update.completions);
  const lengths = record.scored?.lengths ?? record.completions?.lengths;
  return lengths ? allOf(lengths) : [];
}

/** Whether a completion was sampled in an earlier step, by another policy. */
export function replayedOf({ prompts, completions }: StepRecord): (completion: number) => boolean {
  const [steps, promptOf] = [prompts?.replayed, completions?.prompt];
  return steps && promptOf ? (b) => steps[promptOf[b]!] !== 0 : () => false;
}

const memberLengths = onceOfBoth((members: readonly number[], lengths: Int32Array) =>
  Int32Array.from(members, (b) => lengths[b]!),
);

/**
 * A row for each completion of an update, of what is the same in all updates from one rollout, unless the update has
 * masks of its own.
 */
export function scoredRows(
  record: StepRecord,
  update: UpdateRecord,
  key: 'oldLogprobs' | 'referenceLogprobs',
): Float32Array[] | undefined;
export function scoredRows(record: StepRecord, update: UpdateRecord, key: 'mask'): Uint8Array[] | undefined;
export function scoredRows(
  record: StepRecord,
  update: UpdateRecord,
  key: 'oldLogprobs' | 'referenceLogprobs' | 'mask',
): Values[] | undefined {
  const lengths = record.scored?.lengths;
  const members = membersOf(record, update);
  if (update[key] && lengths) return rows<Values>(update[key], memberLengths(members, lengths));
  const all = rows<Values>(record.scored?.[key], lengths);
  return all && members.map((b) => all[b]!);
}

/** A per-token array of an update, a row for each of its completions. */
export function updateRows(
  record: StepRecord,
  update: UpdateRecord | undefined,
  key: 'policyLogprobs' | 'entropies' | 'ratios' | 'policyTerms' | 'klTerms' | 'weights' | 'klWeights',
): Float32Array[] | undefined {
  const lengths = record.scored?.lengths ?? record.completions?.lengths;
  if (!update?.[key] || !lengths) return undefined;
  return rows(update[key], memberLengths(membersOf(record, update), lengths));
}

/** How many ids each token of a completion could have been drawn from, where they were kept. */
export function supportSizesOf(record: StepRecord, completion: number): Int32Array | undefined {
  const sets = inputs.supports.from(record)?.[completion];
  return sets && Int32Array.from({ length: sets.length }, (_, t) => sets.size(t));
}
