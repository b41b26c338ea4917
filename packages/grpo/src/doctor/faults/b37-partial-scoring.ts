import { stepCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { type Evidence, fail, notApplicable, pass } from '../outcome.js';
import { say } from '../sentence.js';

/** Tokens, in completions of more than one, above which equal log-probs are no accident. */
const ENOUGH = 20;

export const b37: Fault = {
  code: 'B37',
  name: 'partial scoring',
  title: 'Only some positions are scored, and a fallback hides it',
  checks: [
    stepCheck({
      code: 'B37.scored',
      title: 'Every sampled token is scored',
      stage: 'logprob',
      kind: 'identity',
      level: 2,
      rank: 1,
      threshold:
        'as many tokens scored as sampled; the end token and completions that are not scored are left out',
      sources: ['huggingface/trl@f2cd57710ae3:trl/trainer/grpo_trainer.py'],
      why: 'In another run both arrays were cut to the shorter length, which hid that the model returned only its last position.',
      remedy:
        'Ask the model for the logits of every completion token, and never cut to the shorter of two lengths.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B08', 'B12', 'B11', 'B39', 'B43', 'B45'],
      proofs: ['native'],
      needs: ['lengths', 'scoredLengths'],
      test({ lengths, scoredLengths }) {
        const short = [...lengths].flatMap((length, completion): Evidence[] => {
          const scored = scoredLengths[completion]!;
          return scored > 0 && scored < length - 1
            ? [{ completion, values: { sampled: length, scored } }]
            : [];
        });
        const measured = { completions: lengths.length, short: short.length };
        return short.length > 0 ? fail(measured, short) : pass(measured);
      },
      says: (m) => say`${m.short} of ${m.completions} completions have fewer scored than sampled tokens.`,
    }),
    stepCheck({
      code: 'B37.broadcast',
      title: 'Each token of a completion has its own log-prob',
      stage: 'logprob',
      kind: 'identity',
      level: 3,
      rank: 3,
      threshold: `reported when all tokens of a completion have one log-prob, in every completion and over ${ENOUGH} tokens or more`,
      sources: ['huggingface/trl@f2cd57710ae3:trl/trainer/grpo_trainer.py'],
      why: 'Logits of the last position alone are broadcast to all tokens.',
      remedy:
        'Ask the model for the logits of every completion token, and check their shape before they are gathered.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B36', 'B38', 'B39', 'B49', 'B51', 'B19'],
      proofs: ['native'],
      needs: ['firstPolicyLogprobs'],
      test({ firstPolicyLogprobs }) {
        // Near 0 log-probs round to one number in a healthy run too.
        const long = firstPolicyLogprobs.filter((row) => row.length > 1 && row[0]! < -0.01);
        const tokens = long.reduce((sum, row) => sum + row.length, 0);
        if (tokens < ENOUGH) return notApplicable(`${ENOUGH} tokens in completions of several`);
        const alike = long.filter((row) => row.every((value) => value === row[0])).length;
        const measured = { completions: long.length, alike };
        return alike === long.length ? fail(measured) : pass(measured);
      },
      says: (m) =>
        say`In all ${m.completions} completions every token has the same log-prob: the log-prob of one position was broadcast.`,
    }),
  ],
};
