/** Finds TRL's name of a metric by the words of a log's name. */
import { givenName } from './given-names.js';
import { type CommonName, NAMES, REST, SHARES, SYNONYMS, TELLING } from './name-table.js';

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

/** What is known of the numbers under a name. */
export interface Told {
  least: number;
  largest: number;
  /** Whether each is a whole number. */
  whole: boolean;
}

/** Words that make a number a share, whatever its values. */
const SHARE = /frac|ratio|rate|share|pct|percent|proportion/i;

/**
 * Whether numbers can be the metric's: a count of completions or groups is no share of them. One that is 0 and 1 by turns counts
 * few things; one that is always 1 is a share of all, unless it is of groups.
 */
export const canBe = (common: string, name: string, { least, largest, whole }: Told): boolean => {
  if (!SHARES.has(common)) return true;
  const isOfGroups = /group/i.test(name) && (largest !== 0 || REST.has(common));
  const isCount = whole && !SHARE.test(name) && (least !== largest || isOfGroups);
  return !(largest > 1) && !isCount;
};

/** Words that say of what a number is the mean, or where it was taken, and nothing of what it is. */
const PLAIN =
  /^(mean|avg|average|typical|latest|batch|overall|total|train|training|trainer|current|cur|running|all|global|per|token|groups?|metrics|rollout|raw|exact|estimated|approx|div|divergence|learner|actor|policy|agent|optim|optimizer|stats|rl|opt|step)$/;
/** Methods: a folder named after one holds the metrics of training. */
const METHOD = /^(grpo|dapo|gspo|rloo|rlvr|rlhf)$/;
/** Words after which a number is none of the step's. */
const OTHER =
  /^(best|final|last|max|maximum|min|minimum|median|target|old|previous|prev|new|initial|baseline|threshold|coef|coeff|weight|scale|var|variance|p\d+|sum|ema)$/;
/** Words that say what a reward pays for. */
const GRADED = 'answer|correct|correctness|exact|format|tags?|style|length|json|think(?:ing)?|tools?';
/** Matches a reward by function below the rewards: `rewards / xmlcount_reward_func`, `rewards/format/mean`. */
const BELOW = /^(?:train\/)?rewards ?\/ ?(.+?)(?: ?\/ ?mean)?$/;
/** Matches one by its own name: `format_reward`, `r_format`, `reward_valid_json`, `answer`. */
const BESIDE = [
  String.raw`(\w+)_rewards?(?:_func(?: mean)?|_mean)?`,
  String.raw`(?:r|rew)_(\w+?)(?:_mean)?`,
  String.raw`reward_((?:\w+_)?(?:${GRADED})(?:_\w+?)?)(?:_mean)?`,
  `(${GRADED})(?:_mean)?`,
].map((form) => new RegExp(String.raw`^(?:train\/)?${form}$`));
const NOT_A_FUNCTION =
  /^(\d+|mean|std|min|max|minimum|maximum|all|total|avg|average|median|all\/.*|total\/.*|.*\/ ?(std|min|max)|(.*[_/ ])?(ratio|rate|frac|count|num|time|seconds|secs|ms|duration|margins?|chosen|rejected)([_/ ].*)?)$/;
/** An evaluation's reward where it is the share of right answers. */
const ACCURACY =
  /^(mean[_ ])?(acc|accuracy|pass@?1|score|(pass|success)(_rate)?|(exact|correct|em|solved)([_ ](match|rate|frac))?)([_ ]greedy)?$/i;
/** Words for an evaluation, in names, in rows and before the numbers of a line. */
export const EVALUATION_WORDS =
  'eval(?:uation|uator)?|val(?:id(?:ation)?)?|test|exam|held[_-]?out|hold[_-]?out';
/** A valid group or answer is one of training; `valid_loss` and its like are of an evaluation. */
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
  const found = find(name.trim().replace(VALUE, ''));
  if (known.size < MOST_KNOWN) known.set(name, found);
  return found;
}

/** Matches a word that says nothing: `KL Value`. */
const VALUE = /\s+values?$/i;

/** A unit of time behind a name, or a folder of times: `reward mean (s)`, `timing_s/reward` are how long the rewards took. */
const TIMED =
  /\((?:s|secs?|seconds?|ms|min|minutes?|h|hours?)\)$|^(?:time|timings?|perf)(?:_(?:s|raw|per_token_ms))?\//i;

/** Names of what a teacher gives: its `token_kl` is a signal with a sign, and no distance from the reference. */
const DISTILLED = /distill|teacher|(?:^|\/)token_kl(?:\/|$)/i;

function find(name: string): string | undefined {
  if (TIMED.test(name) || DISTILLED.test(name)) return undefined;
  const evaluation = EVALUATION.exec(name)?.[1];
  if (evaluation !== undefined) {
    const common = ACCURACY.test(evaluation) ? 'reward' : find(evaluation);
    return common === undefined ? undefined : `eval_${common}`;
  }
  const words = wordsOf(name);
  const plain = wordsOf(withoutPlace(name));
  const below = BELOW.exec(name)?.[1];
  const isOther = words.some((word) => OTHER.test(word));
  if (below !== undefined && !isOther && isFunction(below)) return `rewards/${below.trim()}/mean`;
  const whole = byWords.get(keyOf(words)) ?? byWords.get(keyOf(plain));
  if (whole !== undefined) return whole;
  if (isOfFlatGroups(words)) return 'frac_reward_zero_std';
  if (isOther) return undefined;
  const common = byWords.get(keyOf(plain.filter((word) => !PLAIN.test(word))));
  if (common !== undefined) return common;
  const [beside] = [name, plain.join('_')].flatMap((form) =>
    BESIDE.flatMap((pattern) => pattern.exec(form)?.[1] ?? []),
  );
  return beside !== undefined && isFunction(beside) ? `rewards/${beside.trim()}/mean` : undefined;
}

/** Words for what does not differ, for what is not there, for what rewards have a spread of, and for groups. */
const ALIKE = /^(flat|dead|degenerate|equal|same|identical|tied|uniform|constant|homogeneous|collapsed)$/;
const NONE = /^(zero|no|without|lacking)$/;
const SPREAD = /^(std|var|spread|range|variation|diversity|signal|grad|adv)$/;
const GROUP = /^(group|prompt|question|problem)s?$/;
/** Words for a share or a count, and those that join the others. */
const SHARE_OR_COUNT = /^(frac|ratio|pct|percent|percentage|count|num|number|n)$/;
const JOINING = /^(reward|score|of|with|having|in|within|intra|the|all)s?$/;

/** Whether a name is that of the groups whose rewards have no spread, in whatever words: `flat_reward_group_ratio`. */
function isOfFlatGroups(words: readonly string[]): boolean {
  const plain = words.map(singular);
  const has = (kind: RegExp) => plain.some((word) => kind.test(word));
  const kinds = [ALIKE, NONE, SPREAD, GROUP, SHARE_OR_COUNT, JOINING, PLAIN];
  const isShareOrCount = has(SHARE_OR_COUNT) || words.some((word) => GROUP.test(word) && word.endsWith('s'));
  return (
    isShareOrCount &&
    has(GROUP) &&
    (has(ALIKE) || (has(NONE) && has(SPREAD))) &&
    plain.every((word) => kinds.some((kind) => kind.test(word)))
  );
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

/** Other lengths are of anything. */
const LENGTH_OF_COMPLETIONS = /resp|compl/i;

/** Whether a name is that of a metric that only training has. */
export function isTraining(name: string): boolean {
  const common = commonName(name);
  if (common === 'completions/mean_length') return LENGTH_OF_COMPLETIONS.test(name);
  return common !== undefined && (TELLING.has(common) || /^(eval_)?rewards?(\/|$)/.test(common));
}
