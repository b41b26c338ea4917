/** The loss is over the model’s own tokens of the completion: all of them, and no others. */
import { stepCheck } from '../check.js';
import { inputs } from '../inputs.js';
import { type Evidence, fail, notApplicable, pass, warn } from '../outcome.js';
import { largest, nonzero } from '../statistics.js';
import { longestRun } from '../trend.js';

const consequence = { rerun: 'GRPO', checkpointsVoid: true } as const;

/** Tokens of a prompt’s end that a completion must repeat from its first token to look wrongly cut. */
const REPEATED = 8;

export const maskChecks = [
  stepCheck({
    code: 'B10.cut',
    title: 'A completion begins where the prompt ends',
    stage: 'masks',
    kind: 'heuristic',
    level: 2,
    threshold: `not half of the completions begin with the prompt’s last ${REPEATED} tokens or more`,
    source: 'seed 002, bug 4: cut by the count of tokens under left padding',
    remedy: 'Cut at the padded width of the prompts, not at the number of their tokens.',
    consequence,
    induces: ['B20', 'B26', 'B27'],
    settles: 'The sampler’s raw output of one padded row beside what the reward got.',
    needs: ['promptIds', 'promptOf', 'ids'],
    test({ promptIds, promptOf, ids }) {
      const repeating = ids.flatMap((row, completion): Evidence[] => {
        const repeated = repeatedTail(promptIds[promptOf[completion]!]!, row);
        return repeated >= REPEATED ? [{ completion, values: { repeated } }] : [];
      });
      const measured = { completions: ids.length, repeating: repeating.length };
      return repeating.length > ids.length / 2 ? warn(measured, repeating) : pass(measured);
    },
  }),
  stepCheck({
    code: 'B10.length',
    title: 'No completion is longer than allowed',
    stage: 'masks',
    kind: 'identity',
    level: 2,
    threshold: 'tokens of the model in a row ≤ declared.maxNewTokens',
    source: 'identity; seed 002: a longer one counts prompt or padding',
    remedy: 'Look at where the completion is cut out of the sampler’s output.',
    consequence,
    needs: ['declared', 'lengths'],
    test({ declared: { maxNewTokens }, lengths }, record) {
      if (maxNewTokens === undefined) return notApplicable('declared.maxNewTokens');
      const sources = inputs.sources.from(record);
      const long = [...lengths].flatMap((length, completion): Evidence[] => {
        if (length <= maxNewTokens) return [];
        // A tool's answer between them begins the count again: each turn has its own limit in some systems.
        const own = sources ? longestRun(sources[completion]!, (source) => source === 0).length : length;
        return own > maxNewTokens ? [{ completion, values: { tokens: own } }] : [];
      });
      const measured = { limit: maxNewTokens, longest: largest(lengths), long: long.length };
      return long.length > 0 ? fail(measured, long) : pass(measured);
    },
  }),
  stepCheck({
    code: 'B11.mask',
    title: 'The loss covers every token of the model’s and no other',
    stage: 'masks',
    kind: 'identity',
    level: 2,
    threshold:
      'mask 1 at tokens of the model, 0 at tokens of tools and template; completions masked as a whole aside',
    source: 'identity; seed 002, bug 5, which its authors call the most serious',
    remedy: 'Make the mask where the tokens are put together, from lengths and sources.',
    consequence,
    induces: ['B08', 'B12', 'B37', 'B39', 'B45', 'B49'],
    needs: ['ids', 'scoredIds', 'masks'],
    test({ ids, scoredIds, masks }, record) {
      const sources = inputs.sources.from(record);
      const wrong = masks.flatMap((mask, completion): Evidence[] => {
        if (nonzero(mask) === 0) return [];
        // The last token may be the end token, which has checks of its own.
        const inner = Math.min(mask.length, ids[completion]!.length - 1);
        const source = sources?.[completion];
        for (let token = 0; token < inner; token++) {
          if (mask[token] !== (source?.[token] ? 0 : 1))
            return [
              { completion, token, values: { mask: mask[token]!, id: scoredIds[completion]![token]! } },
            ];
        }
        return [];
      });
      const measured = { completions: masks.length, wrong: wrong.length };
      return wrong.length > 0 ? fail(measured, wrong) : pass(measured);
    },
  }),
  stepCheck({
    code: 'B14.beyond',
    title: 'Nothing after the last token of a completion is scored',
    stage: 'masks',
    kind: 'identity',
    level: 2,
    threshold: 'no mask beyond the sampled length',
    source: 'identity; seed 001: sums over trailing padding',
    remedy: 'Sum over the sampled tokens only.',
    consequence,
    induces: ['B11', 'B38', 'B46', 'B49'],
    needs: ['lengths', 'masks'],
    test({ lengths, masks }) {
      const beyond = masks.flatMap((mask, completion): Evidence[] => {
        const extra = mask.length > lengths[completion]! ? nonzero(mask.subarray(lengths[completion]!)) : 0;
        return extra > 0 ? [{ completion, token: lengths[completion]!, values: { extra } }] : [];
      });
      const measured = { completions: masks.length, beyond: beyond.length };
      return beyond.length > 0 ? fail(measured, beyond) : pass(measured);
    },
  }),
  stepCheck({
    code: 'B37.scored',
    title: 'Every sampled token has a log-prob in the scoring',
    stage: 'logprob',
    kind: 'identity',
    level: 2,
    threshold:
      'as many tokens scored as sampled; the end token, and completions that are not scored at all, aside',
    source:
      'identity; seed 003: a model that returned its last position only, hidden by a cut to the shorter length',
    remedy:
      'Ask the model for the logits of every completion token, and never cut to the shorter of two lengths.',
    consequence,
    induces: ['B08', 'B12', 'B11', 'B39', 'B43', 'B45'],
    needs: ['lengths', 'scoredLengths'],
    test({ lengths, scoredLengths }) {
      const short = [...lengths].flatMap((length, completion): Evidence[] => {
        const scored = scoredLengths[completion]!;
        return scored > 0 && scored < length - 1 ? [{ completion, values: { sampled: length, scored } }] : [];
      });
      const measured = { completions: lengths.length, short: short.length };
      return short.length > 0 ? fail(measured, short) : pass(measured);
    },
  }),
  stepCheck({
    code: 'B45.empty',
    title: 'Something is left to train on',
    stage: 'masks',
    kind: 'identity',
    level: 6,
    threshold:
      'at least one token with mask 1; only a warning where all were cut off and are masked for it, as declared',
    source: 'identity; seed 003, trl#3248: everything masked gives 0/0 or a loss of 0',
    remedy:
      'Look at why every completion was masked: truncation with masking, or data without positions to train.',
    consequence: { rerun: 'GRPO', checkpointsVoid: false },
    induces: ['B43', 'B52', 'B53'],
    needs: ['masks'],
    test({ masks }, { advantages, declared, completions }) {
      if (advantages?.every((advantage) => advantage === 0))
        return notApplicable('an advantage other than 0');
      const empty = masks.filter((mask) => nonzero(mask) === 0).length;
      const measured = { completions: masks.length, empty };
      if (empty < masks.length) return pass(measured);
      // Then nothing is wrong in the code, but in the lengths.
      const truncated = completions?.finish?.every((reason) => reason === 'length') ?? false;
      return declared?.maskTruncated && truncated ? warn({ ...measured, truncated }) : fail(measured);
    },
  }),
];

/** The longest end of the prompt, in tokens, that the completion begins with. */
function repeatedTail(prompt: Int32Array, completion: Int32Array): number {
  for (let length = Math.min(prompt.length, completion.length); length > 0; length--) {
    const from = prompt.length - length;
    let equal = 0;
    while (equal < length && completion[equal] === prompt[from + equal]) equal++;
    if (equal === length) return length;
  }
  return 0;
}
