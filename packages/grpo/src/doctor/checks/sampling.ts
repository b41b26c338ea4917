/** Tokens are drawn as declared, from the distribution that is trained. */
import type { Declared, StepRecord } from '../../trace/index.js';
import { stepCheck } from '../check.js';
import { sampledMasks } from '../first-update.js';
import { inputs, updateRows } from '../inputs.js';
import { type Evidence, fail, inform, notApplicable, pass, warn } from '../outcome.js';
import { isFull, toleranceOf } from '../tolerance.js';

/** Standard errors by which −log p may miss the entropy. */
const SURPRISE = 8;
/** Between two log-probs of one pass, whose logits may have been processed in half precision. */
const ROUNDING = { full: 1e-4, half: 0.01 };

export const samplingChecks = [
  stepCheck({
    code: 'B15.first-token',
    title: 'Penalties leave the first token alone',
    stage: 'generation',
    kind: 'identity',
    level: 2,
    threshold: `with penalties declared, the first token’s two log-probs agree within ${ROUNDING.full} in float32, ${ROUNDING.half} in half precision, since nothing was generated before it; where truncation is declared too, the one drawn from is not lower`,
    source:
      'identity; seed 002, bug 2: penalties that see the prompt make its words, and relatively the end token, up to 3000 times likelier',
    remedy: 'Count only generated tokens in presence, frequency and repetition penalties.',
    consequence: { rerun: 'GRPO', checkpointsVoid: true },
    induces: ['B03', 'B08', 'B19', 'B39'],
    needs: ['declared', 'samplerLogprobs', 'sampledLogprobs'],
    test({ declared, samplerLogprobs, sampledLogprobs }, record) {
      const { repetitionPenalty = 1, presencePenalty = 0, frequencyPenalty = 0 } = declared;
      if (repetitionPenalty === 1 && presencePenalty === 0 && frequencyPenalty === 0)
        return notApplicable('penalties, declared');
      if (declared.temperature === 0) return notApplicable('a temperature above 0');
      // What is left of a cut distribution is likelier than before.
      const bound = roundingOf(record);
      const cut = truncates(declared) || (declared.minNewTokens ?? 0) > 0;
      const moved = samplerLogprobs.flatMap((row, completion): Evidence[] => {
        const [plain, drawn] = [row[0] ?? 0, sampledLogprobs[completion]![0] ?? 0];
        const differ = cut ? drawn < plain - bound : Math.abs(plain - drawn) > bound;
        return differ ? [{ completion, token: 0, values: { plain, drawn } }] : [];
      });
      const measured = { completions: samplerLogprobs.length, moved: moved.length };
      return moved.length > 0 ? fail(measured, moved) : pass(measured);
    },
  }),
  stepCheck({
    code: 'B18.override',
    title: 'Tokens are drawn as declared',
    stage: 'generation',
    kind: 'identity',
    level: 2,
    threshold: `where no truncation and no penalty is declared, the log-probs before and after them agree within ${ROUNDING.full} in float32, ${ROUNDING.half} in half precision`,
    source: 'identity; ART#140, verl#7270: generation_config.json overrides what was asked for',
    remedy:
      'Read the sampling parameters back from the engine; pass every one of them on, the neutral ones too.',
    consequence: { rerun: 'GRPO', checkpointsVoid: false },
    induces: ['B19', 'B39'],
    needs: ['declared', 'samplerLogprobs', 'sampledLogprobs'],
    test({ declared, samplerLogprobs, sampledLogprobs }, record) {
      const { topP, topK, repetitionPenalty = 1, presencePenalty = 0, frequencyPenalty = 0 } = declared;
      const neutral = repetitionPenalty === 1 && presencePenalty === 0 && frequencyPenalty === 0;
      if (topP === undefined || topK === undefined || truncates(declared) || !neutral)
        return notApplicable('sampling without truncation and penalties, declared');
      if (declared.temperature === 0 || (declared.minNewTokens ?? 0) > 0)
        return notApplicable('a temperature above 0, and no least length');
      const bound = roundingOf(record);
      const moved = samplerLogprobs.flatMap((row, completion): Evidence[] => {
        const drawn = sampledLogprobs[completion]!;
        let token = 0;
        while (token < row.length && !(Math.abs(row[token]! - drawn[token]!) > bound)) token++;
        return token === row.length
          ? []
          : [{ completion, token, values: { plain: row[token]!, drawn: drawn[token]! } }];
      });
      const measured = { completions: samplerLogprobs.length, moved: moved.length };
      return moved.length > 0 ? fail(measured, moved) : pass(measured);
    },
  }),
  stepCheck({
    code: 'B19.surprise',
    title: 'Tokens are as surprising as the scoring distribution says',
    stage: 'generation',
    kind: 'heuristic',
    level: 3,
    threshold: `|Σ (−log p − H)| within ${SURPRISE} standard errors: drawn from p, the mean of −log p is the entropy H; only informs where a declared truncation or least length explains it`,
    source: 'martingale property of sampling; trl#3029, trl#4159, trl#6789',
    remedy:
      'Score under the distribution that is sampled from: same temperature; no top-p, top-k or penalties, or correct for them.',
    consequence: { rerun: 'GRPO', checkpointsVoid: false },
    induces: ['B39'],
    settles:
      'The sampler’s own log-probs beside the scored ones, and the sampling parameters that the engine really used.',
    needs: ['firstUpdate', 'firstPolicyLogprobs'],
    test({ firstUpdate, firstPolicyLogprobs }, record) {
      const entropies = updateRows(record, firstUpdate, 'entropies');
      if (!entropies) return notApplicable(`${inputs.firstUpdate.path}.entropies`);
      const masks = sampledMasks(record);
      if (!masks && record.completions?.source?.some((source) => source !== 0))
        return notApplicable('scored.mask, or completions of the model’s tokens alone');
      let [tokens, total, squares, bound] = [0, 0, 0, 0];
      for (const [row, logprobs] of firstPolicyLogprobs.entries()) {
        const mask = masks?.[row];
        const own = entropies[row]!;
        for (let t = 0; t < logprobs.length; t++) {
          if (mask?.[t] === 0) continue;
          const entropy = own[t]!;
          const gap = -logprobs[t]! - entropy;
          tokens++;
          total += gap;
          squares += gap * gap;
          // Of a nearly certain token the rare other one, which makes up the variance, is seldom in the sample.
          if (entropy > 0) bound += entropy * Math.max(0.5, 0.5 - Math.log(entropy));
        }
      }
      const score = total / Math.sqrt(Math.max(squares, bound));
      if (!Number.isFinite(score)) return notApplicable('tokens with log-probs and entropies');
      const measured = { tokens, meanGap: total / tokens, standardErrors: score, flatter: score > 0 };
      if (Math.abs(score) <= SURPRISE) return pass(measured);
      const { minNewTokens = 0 } = record.declared ?? {};
      const explained = minNewTokens > 0 || (score < 0 && truncates(record.declared ?? {}));
      return explained ? inform(measured) : warn(measured);
    },
  }),
  stepCheck({
    code: 'B19.temperature',
    title: 'Completions are scored at the temperature that they were sampled at',
    stage: 'generation',
    kind: 'identity',
    level: 3,
    threshold:
      'where policy and sampler disagree at the declared temperature beyond the tolerance of the precision, they do not agree at another one',
    source: 'identity; trl#3029, trl#4159: log-probs at T 1 of tokens drawn at another',
    remedy: 'Divide the logits by the same temperature in sampling and in scoring.',
    consequence: { rerun: 'GRPO', checkpointsVoid: false },
    induces: ['B19', 'B38', 'B39', 'B55'],
    needs: ['probes', 'declared'],
    test({ probes: { temperatures }, declared: { temperature } }, record) {
      const own = temperatures?.find((probe) => probe.temperature === temperature);
      if (!temperatures || !own) return notApplicable('probes.temperatures, with the declared one');
      const tolerance = toleranceOf(record).mean;
      const best = temperatures.reduce((a, b) => (b.mean < a.mean ? b : a));
      const measured = {
        declared: own.temperature,
        meanGap: own.mean,
        fits: best.temperature,
        gapThere: best.mean,
      };
      if (own.mean <= tolerance) return pass(measured);
      return best.mean <= tolerance ? fail(measured) : notApplicable('a temperature at which the two agree');
    },
  }),
  stepCheck({
    code: 'B19.truncation',
    title: 'Tokens are drawn from the distribution that is trained',
    stage: 'generation',
    kind: 'heuristic',
    level: 3,
    threshold:
      'the log-probs before and after truncation and penalties differ by at most 0.1 nat a token on average',
    source: 'trl#6789: top-p and top-k multiply every importance ratio by the probability that they kept',
    remedy: 'Train with top_p 1, top_k 0 and no penalties, or correct for the sampler.',
    consequence: { rerun: 'nothing', checkpointsVoid: false },
    induces: ['B39'],
    settles: 'The mean of exp(plain − drawn): the share of probability that sampling kept.',
    needs: ['samplerLogprobs', 'sampledLogprobs', 'declared'],
    test({ samplerLogprobs, sampledLogprobs, declared }) {
      if (declared.temperature === 0) return notApplicable('a temperature above 0');
      let [tokens, total] = [0, 0];
      for (const [b, row] of samplerLogprobs.entries()) {
        const drawn = sampledLogprobs[b]!;
        for (let t = 0; t < row.length; t++) {
          const gap = drawn[t]! - row[t]!;
          if (Number.isNaN(gap)) continue;
          tokens++;
          total += gap;
        }
      }
      if (tokens === 0) return notApplicable('tokens');
      const meanGap = total / tokens;
      const measured = { tokens, meanGap };
      return Math.abs(meanGap) > 0.1 ? warn(measured) : pass(measured);
    },
  }),
];

const roundingOf = (record: StepRecord) => (isFull(record) ? ROUNDING.full : ROUNDING.half);

/** Whether tokens are drawn from a part of the distribution only. */
const truncates = ({ topP = 1, topK = 0, minP = 0 }: Declared) => topP < 1 || topK > 0 || minP > 0;
