/** One table of the names under which logs have a metric, whoever wrote them: `mean_reward`, `Avg Response Len`, `ppo_kl`. */
import { nearestName } from '../../../errors/nearest-name.js';
import { UsageError } from '../../../errors/user-error.js';
import { giveNames, givenName } from './given-names.js';

/**
 * TRL's name, and what other logs call it: in any order, with any of the words that mean the same, with or without those that
 * only say that it is a mean or of the training.
 */
const NAMES = {
  reward: [
    'reward',
    'episode_reward',
    'ep_reward',
    'reward_score',
    'reward_scores',
    'r',
    'solve_frac',
    'solved_frac',
    'score',
  ],
  reward_std: ['reward_std', 'std'],
  loss: ['loss', 'actor_loss', 'act_loss', 'grpo_loss', 'rl_loss', 'nll'],
  policy_loss: ['policy_loss', 'pg_loss', 'pg', 'policy_grad_loss', 'surrogate_loss'],
  kl: ['kl', 'kl_ref', 'kl_to_ref', 'kl_to_start', 'kl_loss'],
  'kl/old': ['kl_old', 'approx_kl', 'approx_kl_old', 'ppo_kl', 'kl_new_old', 'kl_behavior'],
  grad_norm: ['grad_norm', 'gn', 'grad', 'grad_l2', 'grad_norm_before_clip', 'unclipped_grad_norm'],
  entropy: ['entropy', 'policy_entropy', 'h'],
  learning_rate: ['learning_rate', 'lr', 'actor_lr', 'act_lr'],
  'completions/mean_length': [
    'completion_length',
    'completion_tokens',
    'completion_tokens_sample',
    'glen',
    'seq_length',
    'sequence_length',
    'length',
  ],
  'completions/clipped_ratio': [
    'completion_clip_frac',
    'completion_clipped_frac',
    'clipped_ratio',
    'trunc_frac',
    'trunc',
    'completion_length_clip_frac',
    'hit_limit',
    'ran_out',
    'cut_off',
  ],
  'completions/ended_ratio': ['eos_frac', 'has_eos', 'finished', 'finished_frac', 'ended', 'ended_frac'],
  'clip_ratio/region_mean': [
    'clip',
    'clip_frac',
    'clipped_frac',
    'pg_clip_frac',
    'policy_clip_frac',
    'outside_clip',
  ],
  'clip_ratio/first': ['clip_first', 'clip_frac_first', 'pg_clip_frac_first'],
  frac_reward_zero_std: [
    'frac_reward_zero_std',
    'zero_std_frac',
    'zero_std',
    'zero_adv_frac',
    'zero_var_frac',
    'zero_var',
    'flat_groups',
    'flat_frac',
    'dead_groups',
    'dead_frac',
    'degenerate_groups',
    'degenerate_frac',
    'no_signal_frac',
    'same_reward_groups',
    'same_score_groups',
  ],
  'groups/mixed_ratio': [
    'valid_group_frac',
    'mixed_groups',
    'mixed_frac',
    'nonzero_var_group_frac',
    'nonzero_std_frac',
    'nonzero_adv_frac',
    'groups_with_signal',
    'signal_frac',
    'informative_groups',
    'effective_groups',
  ],
  'advantages/mean': ['adv', 'a'],
  'advantages/std': ['adv_std'],
  'ratio/mean': ['ratio', 'ratios', 'importance_ratio', 'prob_ratio', 'policy_ratio', 'is_ratio'],
  'ratio/first': ['ratio_first'],
  'ratio/max': ['ratio_max'],
  'ratio/min': ['ratio_min'],
  'logprobs/mean': ['logprob', 'policy_logprob', 'new_logprob'],
  'loss/tokens': [
    'loss_tokens',
    'tokens_in_loss',
    'n_loss_tokens',
    'num_loss_tokens',
    'mask_sum',
    'loss_mask_sum',
    'trained',
    'trained_tokens',
    'tok_in_loss',
  ],
  'sampling/kl': ['completion_kl_error', 'mismatch_kl', 'rollout_corr_kl'],
  epoch: ['epoch', 'ep_frac'],
} as const;

/** Words that mean the same in names of metrics, by the one that stands for them. */
const SYNONYMS = {
  reward: ['rewards', 'rew', 'return', 'returns', 'ret'],
  std: ['sd', 'stdev', 'stddev', 'deviation'],
  var: ['variance'],
  frac: ['fraction', 'share', 'rate', 'proportion'],
  completion: [
    'completions',
    'response',
    'responses',
    'resp',
    'comp',
    'generation',
    'generations',
    'generated',
    'gen',
    'output',
    'outputs',
    'out',
  ],
  length: ['lengths', 'len', 'lens'],
  tokens: ['toks'],
  adv: ['advantage', 'advantages', 'advs'],
  kl: ['kld'],
  ref: ['reference'],
  entropy: ['ent', 'entropies'],
  grad: ['gradient', 'gradients', 'grads'],
  grad_norm: ['gradnorm', 'gnorm'],
  clip_frac: ['clipfrac', 'clipfraction'],
  trunc: ['truncated', 'truncation'],
  ended: ['terminated', 'finish'],
  logprob: ['logprobs', 'logp', 'logps'],
  first: ['1st'],
} as const satisfies Record<string, readonly string[]>;

const synonymOf = new Map<string, string>(
  Object.entries(SYNONYMS).flatMap(([word, others]) => others.map((other) => [other, word] as const)),
);

/** `learning_rates` and `losses`; a number of tokens is another thing than one per token. */
const singular = (word: string) => {
  const one = word.replace(/(?<=ss)es$|(?<=[^s])s$/, '');
  return one === 'token' || one.length < 3 ? word : (synonymOf.get(one) ?? one);
};

/** One key for all orders and synonyms of some words. */
function keyOf(words: readonly string[]): string {
  const joined = words
    .join('_')
    .replace(/log_probs?/, 'logprob')
    .split('_');
  const plain = joined.flatMap((word) => (synonymOf.get(word) ?? singular(word)).split('_'));
  return [...new Set(plain)].sort().join(' ');
}

/** A metric of TRL that other logs have under other names. */
export type CommonName = keyof typeof NAMES;

const listed = Object.entries(NAMES).flatMap(([common, names]) =>
  names.map((name) => [name.split('_'), common as CommonName] as const),
);
const byWords = new Map<string, CommonName>([
  // A share is called a ratio as often.
  ...listed.map(
    ([words, common]) => [keyOf(words.map((word) => (word === 'frac' ? 'ratio' : word))), common] as const,
  ),
  ...listed.map(([words, common]) => [keyOf(words), common] as const),
]);

/** Metrics that are shares of all completions, groups or tokens. */
const SHARES: ReadonlySet<string> = new Set<CommonName>([
  'completions/clipped_ratio',
  'completions/ended_ratio',
  'clip_ratio/region_mean',
  'clip_ratio/first',
  'frac_reward_zero_std',
  'groups/mixed_ratio',
]);

/** Whether a number can be the metric's: a count of completions or groups is no share of them. */
export const canBe = (common: string, value: number): boolean => !SHARES.has(common) || !(value > 1);

/** Words that say of what a number is the mean, or where it was taken, and nothing of what it is. */
const PLAIN =
  /^(mean|avg|average|batch|overall|total|train|training|trainer|current|cur|running|all|global|per|token|groups?|metrics|rollout|raw|exact|estimated|approx|div|divergence|learner|actor|policy|agent|optim|optimizer|stats|rl|opt|step)$/;
/** Methods: a folder named after one holds the metrics of training. */
const METHOD = /^(grpo|dapo|gspo|rloo|rlvr|rlhf)$/;
/** Words after which a number is none of the step's. */
const OTHER =
  /^(best|final|last|max|maximum|min|minimum|median|target|old|previous|prev|new|initial|baseline|threshold|coef|coeff|weight|scale|var|variance|p\d+|sum|ema)$/;
/** Words that say what a reward pays for. */
const GRADED = 'answer|correct|correctness|exact|format|tags?|style|length|json|think(?:ing)?|tools?';
/** Matches rewards by function: `rewards / xmlcount_reward_func`, `rewards/format/mean`, `format_reward`, `r_format`, `answer`. */
const BY_FUNCTION = new RegExp(
  String.raw`^(?:train\/)?(?:rewards ?\/ ?(.+?)(?: ?\/ ?mean)?|(\w+)_rewards?(?:_func(?: mean)?|_mean)?|(?:r|rew|reward(?=_(?:\w+_)?(?:${GRADED})(?:_|$)))_(\w+?)(?:_mean)?|(${GRADED})(?:_mean)?)$`,
);
const NOT_A_FUNCTION =
  /^(\d+|mean|std|min|max|all|total|avg|average|median|all\/.*|total\/.*|.*\/ ?(std|min|max)|(.*[_/ ])?(ratio|rate|frac|count|num|time|duration|margins?|chosen|rejected)([_/ ].*)?)$/;
/** An evaluation's reward where it is the share of right answers. */
const ACCURACY =
  /^(mean[_ ])?(acc|accuracy|pass@?1|score|(pass|success)(_rate)?|(exact|correct|em|solved)([_ ](match|rate|frac))?)([_ ]greedy)?$/i;
/** Words for an evaluation, in names, in rows and before the numbers of a line. */
export const EVALUATION_WORDS =
  'eval(?:uation|uator)?|val(?:id(?:ation)?)?|test|exam|held[_-]?out|hold[_-]?out';
/** What is called valid is one of training, such as a group or an answer, unless it is a metric of an evaluation by itself. */
const EVALUATION = new RegExp(
  `^(?!valid[_ ](?!loss|rew|acc|score|pass))(?:${EVALUATION_WORDS})[/_ ]+(.+)$`,
  'i',
);

/** A metric's name in an evaluation, of which not every name tells. */
export const inEvaluation = (name: string): string => (EVALUATION.test(name) ? name : `eval_${name}`);

const known = new Map<string, string | undefined>();
/** A hostile file may have any number of names. */
const MOST_KNOWN = 10_000;

/** TRL's name of a metric; undefined where the table has none. */
export function commonName(name: string): string | undefined {
  const own = givenName(name);
  if (own !== undefined) return own;
  if (known.has(name)) return known.get(name);
  const found = find(name.trim());
  if (known.size < MOST_KNOWN) known.set(name, found);
  return found;
}

function find(name: string): string | undefined {
  const evaluation = EVALUATION.exec(name)?.[1];
  if (evaluation !== undefined) {
    const common = ACCURACY.test(evaluation) ? 'reward' : find(evaluation);
    return common === undefined ? undefined : `eval_${common}`;
  }
  const words = wordsOf(name);
  const [, below, before, after, alone] =
    BY_FUNCTION.exec(name) ?? BY_FUNCTION.exec(wordsOf(withoutPlace(name)).join('_')) ?? [];
  const isOther = words.some((word) => OTHER.test(word));
  if (below !== undefined && !isOther && isFunction(below)) return `rewards/${below.trim()}/mean`;
  const whole = byWords.get(keyOf(words)) ?? byWords.get(keyOf(wordsOf(withoutPlace(name))));
  if (whole !== undefined) return whole;
  if (isOther) return undefined;
  const common = byWords.get(keyOf(wordsOf(withoutPlace(name)).filter((word) => !PLAIN.test(word))));
  if (common !== undefined) return common;
  const beside = before ?? after ?? alone;
  return beside !== undefined && isFunction(beside) ? `rewards/${beside.trim()}/mean` : undefined;
}

/** Removes folders that do not say what a metric is: `policy/approx_kl` becomes `approx_kl`. */
function withoutPlace(name: string): string {
  const parts = name.split('/');
  const first = parts.findIndex((part) => {
    const words = wordsOf(part);
    return !words.every((word) => PLAIN.test(word)) && !words.some((word) => METHOD.test(word));
  });
  return parts.slice(Math.max(0, first)).join('/');
}

const isFunction = (name: string): boolean =>
  !NOT_A_FUNCTION.test(name.trim()) &&
  !/[a-z]_std$/.test(name) &&
  !wordsOf(name).every((word) => PLAIN.test(word));

/** `Grad. Norm` and `gradNorm` as their words; what stands in brackets is a unit. */
const wordsOf = (name: string): string[] =>
  name
    .replace(/\([^)]*\)$/, '')
    .replace(/([a-z])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '');

/** Metrics that only training has: a row with one of them is a row of training. */
const TELLING: ReadonlySet<string> = new Set([
  'reward',
  'reward_std',
  'loss',
  'policy_loss',
  'kl',
  'grad_norm',
  'entropy',
  'completions/clipped_ratio',
  'clip_ratio/region_mean',
  'frac_reward_zero_std',
]);

/** Whether a name is that of a metric that only training has. */
export function isTraining(name: string): boolean {
  const common = commonName(name);
  return common !== undefined && (TELLING.has(common) || /^(eval_)?rewards?(\/|$)/.test(common));
}

/**
 * Takes columns of the logs that are read from now on for metrics, before any table of names does.
 *
 * @param columns - column by metric: TRL's name, an evaluation's with `eval_` before it, a reward function's as
 * `rewards/NAME/mean`
 * @throws UsageError for an unknown metric
 */
export function nameMetrics(columns: ReadonlyMap<string, string>): void {
  const names = Object.keys(NAMES);
  for (const metric of columns.keys()) {
    const plain = metric.replace(/^eval_/, '');
    if (names.includes(plain) || /^rewards\/.+\/mean$/.test(plain)) continue;
    throw new UsageError(`no check reads a metric ${metric}; the nearest is ${nearestName(plain, names)}`, {
      hint: `Metrics are ${names.join(', ')}; rewards/NAME/mean of a reward function; and each with eval_ before it.`,
    });
  }
  giveNames([...columns].map(([metric, column]) => [column, metric]));
}
