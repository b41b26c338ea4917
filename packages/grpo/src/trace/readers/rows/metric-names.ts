/** One table of the names under which logs have a metric, whoever wrote them: `mean_reward`, `Avg Response Len`, `approx_kl`. */

/**
 * TRL's name, and what other logs call it. Written in words: lower case, joined by `_`, without those that only say that
 * it is a mean or of the training.
 */
const NAMES = {
  reward: [
    'reward',
    'rewards',
    'return',
    'returns',
    'ret',
    'episode_return',
    'episode_reward',
    'rew',
    'ep_rew',
    'reward_score',
    'reward_scores',
    'r',
  ],
  reward_std: [
    'reward_std',
    'rewards_std',
    'std_reward',
    'rew_std',
    'std_rewards',
    'group_reward_std',
    'reward_sd',
    'reward_stdev',
    'ret_std',
    'return_std',
    'std_ret',
    'std_return',
    'std',
  ],
  loss: ['loss', 'actor_loss', 'act_loss', 'grpo_loss', 'rl_loss', 'nll'],
  policy_loss: ['policy_loss', 'pg_loss', 'pg', 'policy_gradient_loss', 'surrogate_loss'],
  kl: [
    'kl',
    'kl_div',
    'kl_divergence',
    'approx_kl',
    'kl_ref',
    'ref_kl',
    'reference_kl',
    'kl_to_ref',
    'kl_loss',
    'kld',
  ],
  grad_norm: [
    'grad_norm',
    'gradient_norm',
    'gradnorm',
    'gnorm',
    'gn',
    'grad',
    'grads_norm',
    'grad_l2',
    'grad_norm_before_clip',
  ],
  entropy: ['entropy', 'token_entropy', 'policy_entropy', 'ent'],
  learning_rate: ['learning_rate', 'lr', 'actor_lr', 'act_lr'],
  'completions/mean_length': [
    'completions_length',
    'completion_length',
    'completion_len',
    'completion_tokens',
    'response_length',
    'response_len',
    'response_lengths',
    'glen',
    'response_tokens',
    'gen_length',
    'gen_len',
    'gen_tokens',
    'generation_length',
    'output_length',
    'output_len',
    'output_tokens',
    'resp_len',
    'comp_len',
    'generated_tokens',
    'gen_tokens_sample',
    'completion_lengths',
    'lengths',
    'seq_len',
    'sequence_length',
    'length',
    'len',
  ],
  'completions/clipped_ratio': [
    'completions_clipped_ratio',
    'clipped_ratio',
    'truncated_ratio',
    'truncation_ratio',
    'truncation_rate',
    'truncated_frac',
    'trunc_frac',
    'frac_truncated',
    'trunc_rate',
    'trunc',
    'truncated',
    'response_length_clip_ratio',
  ],
  'completions/ended_ratio': [
    'eos_rate',
    'eos_frac',
    'eos_ratio',
    'frac_eos',
    'has_eos',
    'finished',
    'finished_ratio',
    'frac_finished',
    'finish_rate',
    'ended',
    'terminated_ratio',
    'terminated_frac',
    'frac_terminated',
  ],
  'clip_ratio/region_mean': [
    'clip_frac',
    'clipfrac',
    'clip_fraction',
    'clipped_frac',
    'clipped_fraction',
    'pg_clipfrac',
    'policy_clipfrac',
    'clip_ratio',
    'frac_clipped',
  ],
  frac_reward_zero_std: [
    'frac_reward_zero_std',
    'frac_zero_std',
    'zero_std_frac',
    'zero_std_ratio',
    'zero_advantage_frac',
    'flat_groups',
    'frac_flat_groups',
    'frac_flat',
    'flat_frac',
    'zero_std',
    'zero_var',
    'frac_zero_var',
    'zero_var_frac',
    'dead_groups',
    'frac_dead_groups',
    'dead_frac',
    'frac_dead',
    'degenerate_groups',
    'frac_degenerate',
    'no_signal_frac',
  ],
  'advantages/mean': ['advantage', 'advantages', 'adv'],
  'advantages/std': [
    'advantage_std',
    'advantages_std',
    'adv_std',
    'std_advantage',
    'std_advantages',
    'std_adv',
  ],
  'ratio/mean': ['ratio', 'ratios', 'importance_ratio', 'prob_ratio', 'policy_ratio', 'is_ratio'],
  'ratio/max': ['ratio_max', 'max_ratio'],
  'ratio/min': ['ratio_min', 'min_ratio'],
  'logprobs/mean': [
    'logp',
    'logps',
    'logprob',
    'logprobs',
    'log_prob',
    'log_probs',
    'policy_logp',
    'policy_logprob',
    'policy_log_prob',
    'policy_logprobs',
    'policy_log_probs',
    'new_logp',
    'new_logprob',
    'new_logprobs',
    'new_log_probs',
  ],
  'loss/tokens': [
    'loss_tokens',
    'tokens_in_loss',
    'toks_in_loss',
    'n_loss_tokens',
    'num_loss_tokens',
    'mask_sum',
    'loss_mask_sum',
    'trained_tokens',
    'tokens_trained',
  ],
  'sampling/kl': ['generation_kl_error', 'gen_kl_error', 'mismatch_kl', 'rollout_corr_kl'],
  epoch: ['epoch', 'ep_frac'],
} as const;

/** A metric of TRL that other logs have under other names. */
export type CommonName = keyof typeof NAMES;

const byWords = new Map<string, CommonName>(
  Object.entries(NAMES).flatMap(([name, others]) =>
    others.map((other) => [other, name as CommonName] as const),
  ),
);

/** Metrics that are shares of all completions, groups or tokens. */
const SHARES: ReadonlySet<string> = new Set<CommonName>([
  'completions/clipped_ratio',
  'completions/ended_ratio',
  'clip_ratio/region_mean',
  'frac_reward_zero_std',
]);

/** Whether a number can be the metric's: a count of completions or groups is no share of them. */
export const canBe = (common: string, value: number): boolean => !SHARES.has(common) || !(value > 1);

/** Words that say of what a number is the mean, or where it was taken, and nothing of what it is. */
const PLAIN =
  /^(mean|avg|average|batch|overall|total|train|training|trainer|current|cur|running|all|global|per|token|group|metrics|rollout|raw|exact|estimated)$/;
/** Words after which a number is none of the step's. */
const OTHER =
  /^(best|final|last|max|maximum|min|minimum|median|target|old|previous|prev|new|initial|baseline|threshold|coef|coeff|weight|scale|var|variance|p\d+|sum|ema)$/;
/** Of rewards by function: `rewards / xmlcount_reward_func`, `rewards/format/mean`, `format_reward`. */
const BY_FUNCTION = /^(?:train\/)?(?:rewards ?\/ ?(.+?)(?: ?\/ ?mean)?|(\w+)_reward(?:_func(?: mean)?)?)$/;
const NOT_A_FUNCTION =
  /^(mean|std|min|max|all|total|avg|average|median|all\/.*|total\/.*|.*\/ ?(std|min|max)|(.*[_/ ])?(ratio|rate|frac|count|num|time|margins?|chosen|rejected)([_/ ].*)?)$/;
const EVALUATION = /^(?:eval|val|valid|validation|test)[/_ ]+(.+)$/i;

const known = new Map<string, string | undefined>();
/** A hostile file may have any number of names. */
const MOST_KNOWN = 10_000;

/** TRL's name of a metric; undefined where the table has none. */
export function commonName(name: string): string | undefined {
  if (known.has(name)) return known.get(name);
  const found = find(name.trim());
  if (known.size < MOST_KNOWN) known.set(name, found);
  return found;
}

function find(name: string): string | undefined {
  const evaluation = EVALUATION.exec(name)?.[1];
  if (evaluation !== undefined) {
    const common = find(evaluation);
    return common === undefined ? undefined : `eval_${common}`;
  }
  const words = wordsOf(name);
  const whole = byWords.get(words.join('_'));
  if (whole !== undefined) return whole;
  if (words.some((word) => OTHER.test(word))) return undefined;
  const common = byWords.get(words.filter((word) => !PLAIN.test(word)).join('_'));
  if (common !== undefined) return common;
  const [, listed, suffixed] = BY_FUNCTION.exec(name) ?? [];
  const byFunction = (listed ?? suffixed)?.trim();
  return byFunction !== undefined && !NOT_A_FUNCTION.test(byFunction)
    ? `rewards/${byFunction}/mean`
    : undefined;
}

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
