/** Completions are drawn as declared, each on its own. */

import type { Declared, StepRecord } from '../../trace/index.js';
import { stepCheck } from '../check.js';
import { firstMasks } from '../first-update.js';
import { inputs, keysOf, membersOf, updateRows } from '../inputs.js';
import { type Evidence, fail, inform, notApplicable, pass, shorten, warn } from '../outcome.js';
import { groupsOf, largest, mean, sum } from '../statistics.js';
import { isFull, toleranceOf } from '../tolerance.js';
import { known } from '../trend.js';

/** Two equal draws this unlikely are no accident: natural logarithm, about 1e-9. */
const ACCIDENT = -20;
/** Standard errors by which −log p may miss the entropy. */
const SURPRISE = 8;
const HALF = 0.5;
/** Share of blank completions. */
const BLANK = 0.05;
/** Between two log-probs of one pass, whose logits may have been processed in half precision. */
const ROUNDING = { full: 1e-4, half: 0.01 };

export const generationChecks = [
  stepCheck({
    code: 'B17.draws',
    title: 'Equal completions of a prompt are no more frequent than chance allows',
    stage: 'generation',
    kind: 'identity',
    level: 2,
    threshold: `no completion with Σ log p below ${ACCIDENT} drawn twice`,
    source: 'identity; a completion of log-prob L is drawn again with probability e^L (ms-swift#4570)',
    remedy: 'Give each completion a random stream of its own, and look for a cache of outputs.',
    consequence: { rerun: 'GRPO', checkpointsVoid: false },
    induces: ['B30'],
    needs: ['ids', 'promptOf', 'sampledLogprobs'],
    test({ ids, promptOf, sampledLogprobs }, { declared }) {
      if (declared?.temperature === 0) return notApplicable('a temperature above 0');
      const keys = keysOf(ids);
      const twins: Evidence[] = [];
      for (const group of groupsOf(promptOf)) {
        const seen = new Map<string, number>();
        for (const b of group) {
          const key = keys[b]!;
          const first = seen.get(key);
          if (first === undefined) {
            seen.set(key, b);
            continue;
          }
          // Tokens of tools were not drawn.
          const logprob = sum(known(sampledLogprobs[b]!));
          if (logprob < ACCIDENT) twins.push({ completion: b, values: { equals: first, logprob } });
        }
      }
      const measured = { completions: ids.length, twins: twins.length };
      return twins.length > 0 ? fail(measured, twins) : pass(measured);
    },
  }),
  stepCheck({
    code: 'B17.unique',
    title: 'Completions of a prompt differ',
    stage: 'generation',
    kind: 'heuristic',
    level: 2,
    threshold: `on average at least half of a group’s completions distinct: fewer inform, since short answers of a trained policy repeat in health; a warning where the repeated ones have Σ entropy above ${-ACCIDENT}`,
    source: 'seeds 001 and 003; proposal',
    remedy: 'A higher temperature, or harder prompts; near the end of a successful run nothing.',
    consequence: { rerun: 'nothing', checkpointsVoid: false },
    induces: ['B30'],
    settles:
      'Reward and entropy: equal right answers at low entropy are success, equal answers at high entropy a broken sampler.',
    needs: ['ids', 'promptOf'],
    test({ ids, promptOf }, record) {
      const groups = groupsOf(promptOf).filter((group) => group.length > 1);
      if (groups.length === 0) return notApplicable('a prompt with several completions');
      const keys = keysOf(ids);
      const share = mean(groups.map((group) => new Set(group.map((b) => keys[b])).size / group.length));
      const alike = groups.filter((group) => group.every((b) => keys[b] === keys[group[0]!]));
      const entropy = largest(alike.map((group) => entropyOf(record, group[0]!)));
      const measured = {
        groups: groups.length,
        uniqueShare: share,
        alike: alike.length,
        ...(entropy > 0 && { entropy }),
      };
      const evidence = alike.map(
        (group): Evidence => ({ prompt: promptOf[group[0]!]!, values: { completions: group.length } }),
      );
      if (share >= HALF) return pass(measured);
      return entropy > -ACCIDENT ? warn(measured, evidence) : inform(measured, evidence);
    },
  }),
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
        const token = row.findIndex((plain, t) => Math.abs(plain - drawn[t]!) > bound);
        return token < 0 ? [] : [{ completion, token, values: { plain: row[token]!, drawn: drawn[token]! } }];
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
      const masks = firstMasks(record);
      if (!masks && record.completions?.source?.some((source) => source !== 0))
        return notApplicable('scored.mask, or completions of the model’s tokens alone');
      let [tokens, total, squares, bound] = [0, 0, 0, 0];
      for (const [row, logprobs] of firstPolicyLogprobs.entries()) {
        for (const [t, logprob] of logprobs.entries()) {
          if (masks?.[row]?.[t] === 0) continue;
          const entropy = entropies[row]![t]!;
          tokens++;
          total += -logprob - entropy;
          squares += (-logprob - entropy) ** 2;
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
  stepCheck({
    code: 'B03.blank',
    title: 'Completions say something',
    stage: 'generation',
    kind: 'heuristic',
    level: 2,
    threshold: `at most ${100 * BLANK} % of the completions blank, give or take two standard errors; after step 1 up to half only inform`,
    source: 'mlx-examples#1233 and seed 000; proposal',
    remedy: 'Look at the end of the rendered prompt and at the first tokens sampled.',
    consequence: { rerun: 'GRPO', checkpointsVoid: false },
    induces: ['B26', 'B28', 'B30'],
    settles: 'The tokens of a blank completion: an end token at once, or special tokens that decoding drops.',
    needs: ['texts'],
    test({ texts }, { step }) {
      const blank = texts.flatMap((text, completion): Evidence[] =>
        text.trim() === '' ? [{ completion, text: shorten(text) }] : [],
      );
      const measured = { completions: texts.length, blank: blank.length };
      if (blank.length - 2 * Math.sqrt(blank.length) <= BLANK * texts.length) return pass(measured);
      // Later a policy may have come to it by itself.
      return step > 1 && blank.length <= texts.length / 2 ? inform(measured, blank) : warn(measured, blank);
    },
  }),
];

const roundingOf = (record: StepRecord) => (isFull(record) ? ROUNDING.full : ROUNDING.half);

/** Whether tokens are drawn from a part of the distribution only. */
const truncates = ({ topP = 1, topK = 0, minP = 0 }: Declared) => topP < 1 || topK > 0 || minP > 0;

/** Σ entropy of a completion's tokens: what −Σ log p is on average. NaN where it is not in the first update. */
function entropyOf(record: StepRecord, completion: number): number {
  const [update] = record.updates ?? [];
  const row = update ? membersOf(record, update).indexOf(completion) : -1;
  const entropies = updateRows(record, update, 'entropies')?.[row];
  return entropies ? sum(known(entropies)) : Number.NaN;
}
