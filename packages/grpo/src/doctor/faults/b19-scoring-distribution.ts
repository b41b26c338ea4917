import { isObject } from '../../formats/json.js';
import { mean, moments, sum, withoutNaN } from '../../maths/moments.js';
import type { StepRecord } from '../../trace/index.js';
import { logCheck, runCheck, stepCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { inputs } from '../inputs.js';
import { fromTheStart } from '../log-view.js';
import { sampledMasks } from '../measures/first-update.js';
import { isTruncation, temperatureOf, UNLIKELY } from '../measures/plain-scoring.js';
import { hasPenalties, lowersNone, samplerGap, truncates } from '../measures/sampling.js';
import { once } from '../once.js';
import { fail, inform, notApplicable, pass, warn } from '../outcome.js';
import { say } from '../sentence.js';
import { explains, toleranceOf } from '../tolerance.js';

/** Fewer tokens may all be likelier by chance. */
const SEVERAL = 50;

/** Standard errors by which −log p may miss the entropy. */
const SURPRISE = 8;

/** Nats per token that many tokens must be off by: less is the rounding of two engines, which enough tokens show, too. */
const NOTICEABLE = 0.02;

/** Bounds of −log p ÷ entropy in a log, whose two means need not weigh tokens alike: healthy runs have 0.98 to 1.03. */
const SURPRISING = { low: 0.8, high: 1.25 };
/** The same of −log p ÷ (entropy × length), of whole completions: their spread in length and entropy shifts it by some hundredths. */
const WHOLE = { low: 0.85, high: 1.15 };

/** Distance of a run's mean ratio from 1: updates push it, by their own samples, some hundredths away. */
const RATIO_OFF = 0.05;

/** Nats by which two ways to compute a log-prob may differ. */
const ROUNDED = 1e-3;

/** Sums over tokens of −log p − H. */
interface Surprise {
  tokens: number;
  total: number;
  squares: number;
  bound: number;
  /** Whether a declared minimum length explains a difference, and a declared truncation one below 0. */
  explained: 'any' | 'below' | 'none';
}

/** As text, what is missing. */
const surpriseOf = once((record: StepRecord): Surprise | string => {
  const firstPolicyLogprobs = inputs.firstPolicyLogprobs.from(record)!;
  const comparableEntropies = inputs.comparableEntropies.from(record)!;
  const masks = sampledMasks(record);
  if (!masks && record.completions?.source?.some((source) => source !== 0))
    return 'scored.mask, or completions of the model’s tokens alone';
  let [tokens, total, squares, bound] = [0, 0, 0, 0];
  for (const [row, logprobs] of firstPolicyLogprobs.entries()) {
    const mask = masks?.[row];
    const own = comparableEntropies[row]!;
    for (let t = 0; t < logprobs.length; t++) {
      if (mask?.[t] === 0) continue;
      const entropy = own[t]!;
      const gap = -logprobs[t]! - entropy;
      tokens++;
      total += gap;
      squares += gap * gap;
      // For a nearly certain token, the rare alternative makes up the variance and is seldom in the sample.
      if (entropy > 0) bound += entropy * Math.max(0.5, 0.5 - Math.log(entropy));
    }
  }
  if (!Number.isFinite(total / Math.sqrt(Math.max(squares, bound))))
    return 'tokens with log-probs and entropies';
  const { rollout = {} } = record.declared ?? {};
  const isCut = truncates(rollout) && !inputs.supports.from(record);
  const explained = (rollout.minNewTokens ?? 0) > 0 ? 'any' : isCut ? 'below' : 'none';
  return { tokens, total, squares, bound, explained };
});

/** @param least - nats per token below which nothing is told */
function judgeSurprise(steps: readonly Surprise[], least: number) {
  const over = (key: 'tokens' | 'total' | 'squares' | 'bound') => sum(steps.map((one) => one[key]));
  const [tokens, total] = [over('tokens'), over('total')];
  const score = total / Math.sqrt(Math.max(over('squares'), over('bound')));
  const measured = { tokens, meanGap: total / tokens, standardErrors: score, flatter: score > 0 };
  if (Math.abs(score) <= SURPRISE || Math.abs(measured.meanGap) < least) return pass(measured);
  const [{ explained }] = steps as [Surprise];
  return explained === 'any' || (explained === 'below' && score < 0) ? inform(measured) : warn(measured);
}

const surprising = (m: { flatter: boolean; meanGap: number; standardErrors: number }) =>
  say`Tokens are ${m.flatter ? 'less likely' : 'likelier'} than the scoring distribution says, by ${m.meanGap} nat per token (${m.standardErrors} standard errors): they were sampled from a ${m.flatter ? 'flatter' : 'sharper'} distribution. ${m.flatter ? 'Either sampling had a higher temperature or penalties (B19, B15), or scoring used the wrong logits (B35) or dropout (B38); the sampler’s own log-probs would show which.' : 'A lower temperature, top-p or top-k in sampling has that effect.'}`;

/** Matches processors of logits that settings of GRPO stand for, and those that change no probability. */
const KNOWN_PROCESSOR =
  /^(Temperature|TopK|TopP|MinP|RepetitionPenalty|MinLength|MinNewTokensLength|InfNanRemove|LogitNormalization)/;

export const b19: Fault = {
  code: 'B19',
  name: 'scoring distribution',
  title: 'Scoring distribution and sampling distribution differ',
  checks: [
    stepCheck({
      code: 'B19.surprise',
      title: 'Tokens are as surprising as the scoring distribution says',
      stage: 'generation',
      level: 3,
      rank: 1,
      threshold: `|Σ (−log p − H)| within ${SURPRISE} standard errors: for samples of p, the mean of −log p is the entropy H; only informs where a minimum length, or a declared truncation without the supports, explains it`,
      sources: ['huggingface/trl#3029', 'huggingface/trl#4159', 'huggingface/trl#6789'],
      why: '−log p of a sampled token is its entropy on average.',
      remedy:
        'Score under the sampling distribution: use the same temperature, and leave out top-p, top-k and penalties or correct for them.',
      consequence: { rerun: 'GRPO', checkpointsVoid: false },
      induces: ['B39'],
      settles:
        'Compare the sampler’s own log-probs with the scored ones, and check the sampling parameters that the engine used.',
      proofs: ['native'],
      needs: ['firstPolicyLogprobs', 'comparableEntropies'],
      test(_, record) {
        const sums = surpriseOf(record);
        return typeof sums === 'string' ? notApplicable(sums) : judgeSurprise([sums], 0);
      },
      says: surprising,
    }),
    runCheck({
      code: 'B19.surprises',
      title: 'Over the steps, tokens are as surprising as the scoring distribution says',
      stage: 'generation',
      level: 3,
      rank: 1,
      threshold: `the same over the tokens of all records together, and ${NOTICEABLE} nat per token`,
      sources: ['huggingface/trl#3029', 'huggingface/trl#4159', 'huggingface/trl#6789'],
      why: 'A sampler that is a little off shows in many tokens only.',
      remedy:
        'Compare the sampling parameters that the engine used with the declared ones: those of generation_config.json apply where nothing else is given.',
      consequence: { rerun: 'GRPO', checkpointsVoid: false },
      induces: ['B39'],
      settles:
        'The log-probs of the sampler before and after its processors: they differ where it draws otherwise.',
      proofs: ['native', 'PyTorch loop'],
      needs: ['firstPolicyLogprobs', 'comparableEntropies'],
      see: (_, record) => surpriseOf(record),
      test: (seen) =>
        judgeSurprise(
          seen.map(({ value }) => value),
          NOTICEABLE,
        ),
      says: surprising,
    }),
    stepCheck({
      code: 'B19.temperature',
      title: 'Completions are scored at the temperature that they were sampled at',
      stage: 'generation',
      level: 3,
      rank: 1,
      threshold:
        'where policy and sampler disagree at the declared temperature beyond the tolerance of the precision, they disagree at every other temperature too; not applicable to a lower one without a token that sampling made less likely',
      sources: ['huggingface/trl#3029', 'huggingface/trl#4159', 'parity/trl_faults.py'],
      why: 'The trainer scored tokens at temperature 1 that were sampled at a different temperature.',
      remedy: 'Divide the logits by the same temperature in sampling and in scoring.',
      consequence: { rerun: 'GRPO', checkpointsVoid: false },
      induces: ['B19', 'B38', 'B39', 'B55'],
      proofs: ['TRL run'],
      needs: ['probes', 'declared'],
      test({ probes: { temperatures, changedSettings = [] }, declared: { rollout } }, record) {
        const own = temperatures?.find((probe) => probe.temperature === rollout?.temperature);
        if (!temperatures || !own) return notApplicable('probes.temperatures, with the declared one');
        const tolerance = toleranceOf(record);
        const best = temperatures.reduce((a, b) => (b.mean < a.mean ? b : a));
        const began = changedSettings.find(({ name }) => name === 'trainer.temperature')?.from;
        const measured = {
          declared: own.temperature,
          meanGap: own.mean,
          fits: best.temperature,
          gapThere: best.mean,
          ...(began !== undefined && { began }),
        };
        if (own.mean <= tolerance.mean) return pass(measured);
        if (!explains(best.mean, own.mean, tolerance))
          return notApplicable('a temperature at which the two agree');
        return isTruncation(best.temperature, own.temperature, record)
          ? notApplicable(UNLIKELY)
          : fail(measured);
      },
      says: (m) =>
        say`Tokens are scored at a temperature of ${m.declared} and were sampled at ${m.fits}: policy and sampler differ by ${m.meanGap} nat per token at the first and by ${m.gapThere} at the second.${m.began === undefined ? '' : say` trainer.temperature was ${m.began} when training began: a callback or an override has changed it, and the sampler has not followed.`}`,
    }),
    stepCheck({
      code: 'B19.processors',
      title: 'Sampling has no processor of logits that scoring knows nothing of',
      stage: 'generation',
      level: 3,
      rank: 1,
      threshold:
        'of the processors that the sampler put between model and draw, all are of temperature, top-k, top-p, min-p, the repetition penalty or a minimum length, which other checks judge, or change no probability',
      sources: ['huggingface/trl@f2cd57710ae3:trl/trainer/grpo_trainer.py'],
      why: 'Seen with no_repeat_ngram_size and exponential_decay_length_penalty in generation_kwargs, copied from a script that only generates.',
      remedy: 'Take it out of generation_kwargs; what is wanted of the completions belongs into the reward.',
      consequence: { rerun: 'GRPO', checkpointsVoid: false },
      induces: ['B19.truncation', 'B39'],
      settles: 'The log-probs of one completion before and after the processors.',
      proofs: ['TRL run'],
      needs: ['declared'],
      test(_, { settings }) {
        const names = isObject(settings) ? settings.logitsProcessors : undefined;
        if (!Array.isArray(names)) return notApplicable('settings.logitsProcessors');
        const others = names.filter((name) => !KNOWN_PROCESSOR.test(String(name)));
        const measured = { processors: names.length, others: others.join(', ') };
        return others.length > 0 ? warn(measured) : pass(measured);
      },
      says: (m) =>
        `The sampler changes the logits by ${m.others}, and the scored log-probs do not: completions come from another distribution than the one that is trained.`,
    }),
    stepCheck({
      code: 'B19.truncation',
      title: 'Tokens are sampled from the distribution that is trained',
      stage: 'generation',
      level: 3,
      rank: 1,
      threshold:
        'the log-probs before and after truncation and penalties differ by at most 0.1 nat per token on average; truncation alone changes nothing where the support of each token is kept, since log-probs are then those over it',
      sources: ['huggingface/trl#6789', 'huggingface/trl#7269'],
      why: 'Top-p and top-k multiply every importance ratio by the probability that they kept.',
      remedy:
        'Keep the support of each token (rollout.keepSupport=true; of vLLM --return-sampling-mask), or train with top_p 1, top_k 0; leave penalties and a minimum length out, of generation_kwargs and generation_config.json, too.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      induces: ['B39'],
      settles: 'The mean of exp(plain − drawn): the share of probability that sampling kept.',
      proofs: ['native'],
      needs: ['samplerLogprobs', 'sampledLogprobs', 'declared'],
      test({ samplerLogprobs, sampledLogprobs, declared }, record) {
        if (declared.rollout?.temperature === 0) return notApplicable('a temperature above 0');
        let [tokens, total, last, longest] = [0, 0, -1, 0];
        const { sizes } = record.completions?.support ?? {};
        const keeps = !hasPenalties(declared.rollout ?? {});
        for (const [b, plain] of samplerLogprobs.entries()) {
          const drawn = sampledLogprobs[b]!;
          const row = keeps && (sizes?.[b] ?? 0) > 0 ? drawn : plain;
          for (let t = 0; t < row.length; t++) {
            const gap = drawn[t]! - row[t]!;
            if (Number.isNaN(gap)) continue;
            tokens++;
            total += gap;
            if (Math.abs(gap) > ROUNDED) last = Math.max(last, t);
          }
          longest = Math.max(longest, row.length);
        }
        if (tokens === 0) return notApplicable('tokens');
        const meanGap = total / tokens;
        // Completions that are all short end before the minimum.
        const measured = { tokens, meanGap, ...(last + 2 <= longest && { first: last + 1 }) };
        return Math.abs(meanGap) > 0.1 ? warn(measured) : pass(measured);
      },
      says: (m) =>
        say`Tokens are not sampled from the distribution that is trained: the two differ by ${m.meanGap} nat per token on average${m.first === undefined ? '' : say`, and only in the first ${m.first} tokens of a completion, as where a minimum length forbids the end token`}.`,
    }),
    stepCheck({
      code: 'B19.processed',
      title: 'The sampler’s log-probs are those before truncation',
      stage: 'generation',
      level: 3,
      rank: 4,
      threshold:
        'the sampler’s log-probs are not higher than the policy’s by more than the tolerance of the precision on average, with differences below 0 that are within half of it',
      sources: ['huggingface/trl#7269', 'huggingface/trl#6789', 'modelscope/ms-swift#8442'],
      why: 'Truncation divides by the probability that it keeps and so makes no token less likely; temperatures, penalties, other weights and dropout do.',
      remedy:
        'Ask the engine for log-probs before top-p, top-k and min-p (vLLM: logprobs_mode), or switch truncation off.',
      consequence: { rerun: 'GRPO', checkpointsVoid: false },
      induces: ['B19', 'B39', 'B55'],
      settles: 'The sampling parameters that the engine used, and which of its log-probs it returned.',
      proofs: ['native'],
      needs: ['firstPolicyLogprobs', 'comparableLogprobs'],
      test(_, record) {
        const gap = samplerGap(record)!;
        if (!(gap.tokens >= SEVERAL)) return notApplicable(`${SEVERAL} tokens with both log-probs`);
        const higher = -gap.signed;
        const measured = { higher, kept: Math.exp(-higher), tokens: gap.tokens };
        return higher > toleranceOf(record).mean && lowersNone(gap, record) ? warn(measured) : pass(measured);
      },
      says: (m) =>
        say`The sampler’s log-probs are higher than the policy’s by ${m.higher} nat per token, and lower on none: they are those after top-p, top-k or min-p, which kept about ${m.kept} of the probability, or those of a lower temperature.`,
    }),
    stepCheck({
      code: 'B19.scoring',
      title: 'The trainer scores at the declared temperature',
      stage: 'logprob',
      level: 3,
      rank: 3,
      threshold:
        'where sampler and trainer disagree, the policy’s log-probs of a completion fit no temperature but the declared one, within the tolerance of the precision',
      sources: ['huggingface/trl#3029', 'huggingface/trl#4159'],
      why: 'The trainer scored tokens at temperature 1 that were sampled at a different temperature.',
      remedy:
        'Divide the logits once by the sampling temperature before every log-softmax: policy, old and reference.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B38', 'B39', 'B51', 'B55'],
      proofs: ['native'],
      needs: ['probes', 'declared'],
      test: ({ probes, declared }, record) =>
        temperatureOf('policy', probes, declared.rollout?.temperature, record),
      says: (m) =>
        say`The trainer scores at temperature ${m.fits} (gap ${m.gapThere} nat per token), not at the declared ${m.declared} (gap ${m.gap}).`,
    }),
    logCheck({
      code: 'B19.log',
      title: 'Sampled tokens are as likely as the entropy says',
      stage: 'generation',
      level: 3,
      rank: 6,
      exactLogprobs: true,
      threshold: `the sum of −log p over 8 entries or more is ${SURPRISING.low} to ${SURPRISING.high} times that of the entropies, or, of whole completions, ${WHOLE.low} to ${WHOLE.high} times that of entropies × lengths`,
      sources: ['huggingface/trl#3029', 'huggingface/trl#4159'],
      why: '−log p of a sampled token is its entropy on average.',
      remedy:
        'Score under the sampling distribution: the same temperature, no top-p, top-k or penalties, no dropout; and look at the shift by one of logits and tokens.',
      consequence: { rerun: 'GRPO', checkpointsVoid: false },
      induces: ['B39', 'B40', 'B49', 'B61', 'B62'],
      settles: 'Log-probs and entropies of one completion, token by token.',
      needs: ['logprobs/mean', 'entropy'],
      test(log) {
        const [logprobs, entropies, lengths] = ['logprobs/mean', 'entropy', 'completions/mean_length'].map(
          (name) => log.column(name),
        ) as [Float64Array, Float64Array, Float64Array];
        const judged = [...logprobs.keys()].filter((i) => logprobs[i]! < 0 && entropies[i]! > 0);
        if (judged.length < 8) return notApplicable('8 entries');
        const of = (column: Float64Array) => mean(judged.map((i) => column[i]!));
        const surprise = -of(logprobs) / of(entropies);
        const ofWhole = -of(logprobs) / of(entropies.map((entropy, i) => entropy * lengths[i]!));
        const fits = (value: number, { low, high }: typeof WHOLE) => value >= low && value <= high;
        const measured = { entries: judged.length, surprise: -of(logprobs), entropy: of(entropies) };
        if (fits(surprise, SURPRISING)) return pass(measured);
        return fits(ofWhole, WHOLE)
          ? notApplicable('log-probs of tokens rather than of completions')
          : warn(measured, fromTheStart(log, 'logprobs/mean'));
      },
      says: (m) =>
        say`Sampled tokens have a −log p of ${m.surprise} on average where the entropy is ${m.entropy}: for samples of the scored distribution the two are equal. ${m.surprise > 3 * m.entropy ? 'The log-probs are those of other tokens: look at the shift by one of logits and tokens.' : m.surprise > m.entropy ? 'Sampling was at a higher temperature or from other weights, or scoring uses the wrong logits.' : 'Sampling was sharper: a lower temperature, top-p or top-k.'}`,
    }),
    logCheck({
      code: 'B19.ratio',
      title: 'The ratio is 1 on average',
      stage: 'logprob',
      level: 3,
      rank: 7,
      exactLogprobs: true,
      threshold: `the mean of the ratio over 8 entries or more is within ${RATIO_OFF} of 1, or within six standard errors of that`,
      sources: ['arXiv:1707.06347'],
      why: 'Over samples of the old policy Σ p_old · p / p_old = 1, whatever the new policy is.',
      remedy:
        'Take the old log-probs from the model that sampled, at its temperature, in the same mode, over the same tokens as the new ones.',
      consequence: { rerun: 'GRPO', checkpointsVoid: false },
      induces: ['B49', 'B61', 'B62'],
      settles: 'The ratios of the first update of a step: each is 1.',
      needs: ['ratio/mean'],
      test(log) {
        const ratios = withoutNaN(log.column('ratio/mean'));
        if (ratios.length < 8) return notApplicable('8 entries');
        const { mean: ratio, deviation, count } = moments(ratios, 1);
        const error = deviation / Math.sqrt(count);
        const measured = { entries: count, ratio, error };
        return Math.abs(ratio - 1) > RATIO_OFF + 6 * error
          ? warn(measured, fromTheStart(log, 'ratio/mean'))
          : pass(measured);
      },
      says: (m) =>
        say`The ratio of new to old policy is ${m.ratio} on average, ± ${m.error}: over tokens that the old policy sampled it is 1. The old log-probs are not those of the policy that sampled.`,
    }),
  ],
};
