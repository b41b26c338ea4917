/**
 * The distribution that tokens are declared to be drawn from: penalties, then the temperature, then top-k, top-p of what
 * that leaves, and min-p, in the order of transformers. It is computed over each row in falling order, where every
 * truncation keeps a beginning.
 */
import { type Tensor, tensor, tidy, where } from '@grpo/torch';
import type { DeclaredSection } from '../../trace/index.js';
import { insideOf, type Support } from './plain-support.js';

/** What a sampler is declared to do. */
export interface SamplingRules
  extends Required<
    Pick<
      DeclaredSection<'rollout'>,
      | 'temperature'
      | 'topK'
      | 'topP'
      | 'minP'
      | 'minNewTokens'
      | 'repetitionPenalty'
      | 'presencePenalty'
      | 'frequencyPenalty'
    >
  > {
  /** Ids that are not drawn before `minNewTokens`. */
  endIds: readonly number[];
  /** The id that is never drawn, of a masked-diffusion model. */
  maskId?: number | undefined;
  /** Places in the completion of what is drawn; 0, 1, 2, … where this is not given. */
  places?: readonly number[];
  /** The ids that penalties count before a place of the completion; all of its ids before it where this is not given. */
  counted?: (completion: readonly number[], place: number) => readonly number[];
  /** Nats by which a log-prob may be off: a token so close to the bound of a truncation may be kept or not. */
  margin: number;
}

/** A token under the distribution that it was drawn from. */
export interface Drawn {
  /** −∞ where it cannot be drawn. */
  logprob: number;
  /** Between these it may lie when tokens at a bound are kept or not. */
  least: number;
  most: number;
  /** Log-prob of the token at each of {@link TEMPERATURES}. */
  tempered: readonly number[];
  /**
   * The random numbers in [0, 1) that draw the token, first and last: what the tokens before it in the vocabulary take of
   * the distribution, and that with its own share. Not of greedy tokens.
   */
  numbers?: readonly [number, number];
  /** Nats by which a greedy token lies behind the likeliest. */
  behind?: number;
  /** Ids of the recorded support that cannot be drawn, and that lack in it though they can; where there is one. */
  misplaced?: number;
}

/** In units of the declared temperature: distributions that draws of a wrong sampler may fit better. */
export const TEMPERATURES = [0.5, 0.8, 1.25, 2] as const;

/**
 * @param completion - tokens in the order of the rows: those of a completion, or those that a denoising step fills
 * @param start - place among these of the token that the first row of the logits predicts
 */
export function drawnOf(
  logits: Tensor,
  completion: readonly number[],
  start: number,
  rules: SamplingRules,
  support?: Support,
): Drawn[] {
  const [rows, vocabulary] = [logits.size(0), logits.size(1)];
  const own = completion.slice(start, start + rows);
  const adjusted = penalized(logits, completion, start, rules);
  const index = tensor([...own], [rows, 1], { dtype: 'int64', device: logits.device });
  if (rules.temperature === 0) return greedy(adjusted, index, rules.margin);
  const logprobs = adjusted.div(rules.temperature).logSoftmax(-1);
  const token = logprobs.gather(1, index);
  const { topK, topP, minP, margin } = rules;
  const truncates = (topK > 0 && topK < vocabulary) || topP < 1 || minP > 0;
  // The order matters to truncation alone, and costs most of the time.
  const falling = truncates ? logprobs.sort(-1, true)[0] : logprobs;
  const within = (slack: number): Bounded =>
    tidy(() => {
      const bound = truncates ? kept(falling, rules, slack) : undefined;
      const inside = bound ? falling.ge(bound).logicalAnd(falling.isfinite()) : falling.isfinite();
      return {
        bound,
        log: logMass(falling, inside),
        inside,
        has: bound ? token.ge(bound) : token.isfinite(),
      };
    });
  const exact = within(0);
  const [loose, tight] = truncates ? [within(margin), within(-margin)] : [exact, exact];
  const under = ({ log, has }: Bounded, mass = log) =>
    where(has, token.sub(mass), Number.NEGATIVE_INFINITY).toNumbers();
  const columns = [under(exact), under(tight, loose.log), under(loose, tight.log)];
  const tempered = TEMPERATURES.map((times) =>
    tidy(() => {
      const mass = logMass(falling.div(times), exact.inside);
      return where(exact.has, token.div(times).sub(mass), Number.NEGATIVE_INFINITY).toNumbers();
    }),
  );
  const numbers = numbersOf(logprobs, index, { loose, tight });
  const misplaced = support && misplacedIn(logprobs, support.slice(start, start + rows), { loose, tight });
  return own.map((_, row) => {
    const [logprob, least, most] = columns.map((column) => column[row]!);
    return {
      logprob: logprob!,
      least: least!,
      most: most!,
      tempered: tempered.map((column) => column[row]!),
      numbers: numbers[row]!,
      ...(misplaced && { misplaced: misplaced[row]! }),
    };
  });
}

/** The range of numbers of each token, as wide as tokens at a bound may make it. */
function numbersOf(
  logprobs: Tensor,
  index: Tensor,
  { loose, tight }: { loose: Bounded; tight: Bounded },
): (readonly [number, number])[] {
  return tidy(() => {
    // Metal has no float64.
    const [own, at] = [logprobs.toDevice('cpu'), index.toDevice('cpu')];
    const p = own.to('float64').exp();
    const sums = ({ bound }: Bounded) => {
      const kept = bound ? where(own.ge(bound.toDevice('cpu')), p, 0) : p;
      const upTo = kept.cumsum(1);
      const [last, token] = [upTo.size(1) - 1, upTo.gather(1, at)];
      return { before: token.sub(kept.gather(1, at)), after: token, all: upTo.narrow(1, last, 1) };
    };
    const most = sums(loose);
    const least = tight === loose ? most : sums(tight);
    const from = least.before.div(most.all).toNumbers();
    const to = most.after.div(least.all).clamp(null, 1).toNumbers();
    return from.map((first, row) => [first, to[row]!] as const);
  });
}

/** How many ids of each support are below the loose bound, and how many above the tight one it lacks. */
function misplacedIn(
  logprobs: Tensor,
  support: Support,
  { loose, tight }: { loose: Bounded; tight: Bounded },
): number[] {
  return tidy(() => {
    const has = insideOf(support, 0, logprobs.size(1), logprobs.device).gt(0);
    const above = ({ bound }: Bounded) => (bound ? logprobs.ge(bound) : logprobs.isfinite());
    const foreign = has.logicalAnd(above(loose).logicalNot());
    const missing = has.logicalNot().logicalAnd(above(tight).logicalAnd(logprobs.isfinite()));
    return foreign.to('float32').add(missing.to('float32')).sumDim([-1]).toNumbers();
  });
}

interface Bounded {
  /** The least log-prob that is kept, `[n, 1]`; undefined where nothing is cut away. */
  bound: Tensor | undefined;
  /** Log of the probability of all that is kept: `[n, 1]`. */
  log: Tensor;
  inside: Tensor;
  /** Whether the token is kept: `[n, 1]`. */
  has: Tensor;
}

const logMass = (falling: Tensor, inside: Tensor): Tensor =>
  where(inside, falling, Number.NEGATIVE_INFINITY).logsumexp([-1], true);

/**
 * The least log-prob that is kept of each row, `[n, 1]`.
 *
 * @param falling - log-probs in falling order
 * @param slack - nats by which each bound is moved down
 */
function kept(falling: Tensor, { topK, topP, minP }: SamplingRules, slack: number): Tensor {
  let bound = falling.narrow(1, 0, 1).sub(1e9);
  if (topK > 0 && topK < falling.size(1)) bound = falling.narrow(1, topK - 1, 1).sub(slack);
  if (topP < 1) {
    const p = where(falling.ge(bound), falling.exp(), 0).to('float64');
    const share = p
      .cumsum(1)
      .sub(p)
      .div(p.sumDim([1], true));
    // The likeliest token is always kept: nothing lies before it.
    const nucleus = share.lt(Math.max(topP + slack, Number.MIN_VALUE)).logicalAnd(p.gt(0));
    const least = where(nucleus, falling, Number.POSITIVE_INFINITY).amin([1], true);
    bound = least.sub(slack).maximum(bound);
  }
  if (minP > 0)
    bound = falling
      .narrow(1, 0, 1)
      .add(Math.log(minP) - slack)
      .maximum(bound);
  return bound;
}

/** The likeliest token is certain; one as likely but for rounding may be it. */
function greedy(logits: Tensor, index: Tensor, margin: number): Drawn[] {
  const behind = logits.amax([-1], true).sub(logits.gather(1, index)).toNumbers();
  return behind.map((nats) => ({
    logprob: nats === 0 ? 0 : Number.NEGATIVE_INFINITY,
    least: nats === 0 ? 0 : Number.NEGATIVE_INFINITY,
    most: nats <= margin ? 0 : Number.NEGATIVE_INFINITY,
    tempered: TEMPERATURES.map(() => (nats === 0 ? 0 : Number.NEGATIVE_INFINITY)),
    behind: nats,
  }));
}

/** Logits after penalties for tokens that the completion has already, and without the ends that may not come yet. */
function penalized(
  logits: Tensor,
  completion: readonly number[],
  start: number,
  {
    repetitionPenalty,
    presencePenalty,
    frequencyPenalty,
    minNewTokens,
    endIds,
    maskId,
    places,
    counted = (all, place) => all.slice(0, place),
  }: SamplingRules,
): Tensor {
  const [rows, vocabulary] = [logits.size(0), logits.size(1)];
  const changed: number[] = [];
  const change: ((logit: number) => number)[] = [];
  for (let row = 0; row < rows; row++) {
    const t = start + row;
    const ends = (places?.[t] ?? t) < minNewTokens ? endIds : [];
    const never = maskId === undefined ? ends : [...ends, maskId];
    const counts = new Map<number, number>();
    if (repetitionPenalty !== 1 || presencePenalty !== 0 || frequencyPenalty !== 0)
      for (const id of counted(completion, t)) counts.set(id, (counts.get(id) ?? 0) + 1);
    for (const [id, count] of counts) {
      if (never.includes(id)) continue;
      changed.push(row * vocabulary + id);
      change.push((logit) => {
        const repeated = logit > 0 ? logit / repetitionPenalty : logit * repetitionPenalty;
        return repeated - presencePenalty - frequencyPenalty * count;
      });
    }
    for (const id of never) {
      changed.push(row * vocabulary + id);
      change.push(() => Number.NEGATIVE_INFINITY);
    }
  }
  if (changed.length === 0) return logits;
  const index = tensor(changed, undefined, { dtype: 'int64', device: logits.device });
  const before = logits.flatten().indexSelect(0, index).toNumbers();
  const after = Float32Array.from(before, (logit, i) => change[i]!(logit));
  return logits
    .flatten()
    .clone()
    .indexCopy_(0, index, tensor(after, undefined, { device: logits.device }))
    .view([rows, vocabulary]);
}
