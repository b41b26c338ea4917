/** Completions are drawn as declared, each on its own. */

import { stepCheck } from '../check.js';
import { inputs } from '../inputs.js';
import { type Evidence, fail, inform, notApplicable, pass, shorten, warn } from '../outcome.js';
import { groupsOf, sum } from '../statistics.js';

/** Two equal draws this unlikely are no accident: natural logarithm, about 1e-9. */
const ACCIDENT = -20;
/** Standard errors by which −log p may miss the entropy. */
const SURPRISE = 6;
const HALF = 0.5;

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
    test({ ids, promptOf, sampledLogprobs }) {
      const twins: Evidence[] = [];
      for (const group of groupsOf(promptOf)) {
        const seen = new Map<string, number>();
        for (const b of group) {
          const key = ids[b]!.join(' ');
          const first = seen.get(key);
          const logprob = sum(sampledLogprobs[b]!);
          if (first === undefined) seen.set(key, b);
          else if (logprob < ACCIDENT) twins.push({ completion: b, values: { equals: first, logprob } });
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
    threshold:
      'on average at least half of a group’s completions distinct; short answers of a trained policy repeat in health',
    source: 'seeds 001 and 003; proposal',
    remedy: 'A higher temperature, or harder prompts; near the end of a successful run nothing.',
    consequence: { rerun: 'nothing', checkpointsVoid: false },
    induces: ['B30'],
    settles:
      'Reward and entropy: equal right answers at low entropy are success, equal answers at high entropy a broken sampler.',
    needs: ['ids', 'promptOf'],
    test({ ids, promptOf }) {
      const groups = groupsOf(promptOf).filter((group) => group.length > 1);
      if (groups.length === 0) return notApplicable('a prompt with several completions');
      const shares = groups.map((group) => new Set(group.map((b) => ids[b]!.join(' '))).size / group.length);
      const share = sum(shares) / shares.length;
      const alike = groups.filter((group) => new Set(group.map((b) => ids[b]!.join(' '))).size === 1);
      const measured = { groups: groups.length, uniqueShare: share, alike: alike.length };
      const evidence = alike.map(
        (group): Evidence => ({ prompt: promptOf[group[0]!]!, values: { completions: group.length } }),
      );
      return share < HALF ? inform(measured, evidence) : pass(measured);
    },
  }),
  stepCheck({
    code: 'B15.first-token',
    title: 'Penalties leave the first token alone',
    stage: 'generation',
    kind: 'identity',
    level: 2,
    threshold:
      'with no truncation the first token’s two log-probs agree within 1e-4: nothing was generated before it',
    source:
      'identity; seed 002, bug 2: penalties that see the prompt make its words, and relatively the end token, up to 3000 times likelier',
    remedy: 'Count only generated tokens in presence, frequency and repetition penalties.',
    consequence: { rerun: 'GRPO', checkpointsVoid: true },
    induces: ['B03', 'B08', 'B19', 'B39'],
    needs: ['declared', 'samplerLogprobs', 'sampledLogprobs'],
    test({ declared, samplerLogprobs, sampledLogprobs }) {
      const { topP = 1, topK = 0, minP = 0, temperature, minNewTokens = 0 } = declared;
      if (topP < 1 || topK > 0 || minP > 0 || minNewTokens > 0)
        return notApplicable('sampling without truncation');
      if (temperature === 0) return notApplicable('a temperature above 0');
      const moved = samplerLogprobs.flatMap((row, completion): Evidence[] => {
        if (row.length === 0) return [];
        const values = { plain: row[0]!, drawn: sampledLogprobs[completion]![0]! };
        return Math.abs(values.plain - values.drawn) > 1e-4 ? [{ completion, token: 0, values }] : [];
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
    threshold: `|Σ (−log p − H)| within ${SURPRISE} standard errors: drawn from p, the mean of −log p is the entropy H`,
    source: 'martingale property of sampling; trl#3029, trl#4159, trl#6789',
    remedy:
      'Score under the distribution that is sampled from: same temperature; no top-p, top-k or penalties, or correct for them.',
    consequence: { rerun: 'GRPO', checkpointsVoid: false },
    induces: ['B39', 'B40'],
    settles:
      'The sampler’s own log-probs beside the scored ones, and the sampling parameters that the engine really used.',
    needs: ['firstUpdate', 'firstPolicyLogprobs'],
    test({ firstUpdate: { entropies }, firstPolicyLogprobs }, record) {
      if (!entropies) return notApplicable(`${inputs.firstUpdate.path}.entropies`);
      const sources = record.completions?.source;
      if (sources?.some((source) => source !== 0))
        return notApplicable('completions of the model’s tokens alone');
      const logprobs = firstPolicyLogprobs.flatMap((row) => [...row]);
      const gaps = logprobs.map((logprob, t) => -logprob - entropies[t]!);
      const total = sum(gaps);
      const error = Math.sqrt(sum(gaps.map((gap) => gap * gap)));
      const score = error === 0 ? 0 : total / error;
      const measured = { tokens: gaps.length, meanGap: total / gaps.length, standardErrors: score };
      return Math.abs(score) > SURPRISE ? warn({ ...measured, flatter: score > 0 }) : pass(measured);
    },
  }),
  stepCheck({
    code: 'B18.truncation',
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
      const gaps = samplerLogprobs.flatMap((row, b) =>
        [...row].map((logprob, t) => sampledLogprobs[b]![t]! - logprob),
      );
      if (gaps.length === 0) return notApplicable('tokens');
      const meanGap = sum(gaps) / gaps.length;
      const measured = { tokens: gaps.length, meanGap };
      return Math.abs(meanGap) > 0.1 ? warn(measured) : pass(measured);
    },
  }),
  stepCheck({
    code: 'B03.blank',
    title: 'Completions say something',
    stage: 'generation',
    kind: 'heuristic',
    level: 2,
    threshold: 'at most 5 % of the completions blank',
    source: 'mlx-examples#1233 and seed 000; proposal',
    remedy: 'Look at the end of the rendered prompt and at the first tokens sampled.',
    consequence: { rerun: 'GRPO', checkpointsVoid: false },
    induces: ['B26', 'B28', 'B30'],
    settles: 'The tokens of a blank completion: an end token at once, or special tokens that decoding drops.',
    needs: ['texts'],
    test({ texts }) {
      const blank = texts.flatMap((text, completion): Evidence[] =>
        text.trim() === '' ? [{ completion, text: shorten(text) }] : [],
      );
      const measured = { completions: texts.length, blank: blank.length };
      return blank.length > 0.05 * texts.length ? warn(measured, blank) : pass(measured);
    },
  }),
];
