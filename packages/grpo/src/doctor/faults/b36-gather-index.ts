import { stepCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { firstMasks, ofFirstUpdate } from '../measures/first-update.js';
import { fail, notApplicable, pass } from '../outcome.js';
import { say } from '../sentence.js';

/** Pairs of repeated tokens above which equal log-probs are no accident. */
const PAIRS = 8;

export const b36: Fault = {
  code: 'B36',
  name: 'gather index',
  title: 'Log-probs are gathered along the wrong index',
  checks: [
    stepCheck({
      code: 'B36.rows',
      title: 'A token’s log-prob depends on its position',
      stage: 'logprob',
      level: 3,
      rank: 4,
      threshold: `reported when every repeated id of a completion has the same log-prob each time, in ${PAIRS} pairs or more`,
      sources: ['huggingface/trl@f2cd57710ae3:tests/test_utils.py'],
      why: 'A gather with an index of the wrong shape reads row 0 for all tokens, without an error.',
      remedy: 'Gather with an index of shape [T, 1] on logits of shape [T, V].',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B35', 'B38', 'B39', 'B49', 'B51', 'B19'],
      proofs: ['native'],
      needs: ['firstPolicyLogprobs', 'scoredIds'],
      test({ firstPolicyLogprobs, scoredIds }, record) {
        const ids = ofFirstUpdate(record, scoredIds);
        const masks = firstMasks(record);
        let pairs = 0;
        for (const [row, logprobs] of firstPolicyLogprobs.entries()) {
          const seen = new Map<number, number>();
          const [own, mask] = [ids[row]!, masks?.[row]];
          for (let t = 0; t < logprobs.length; t++) {
            const logprob = logprobs[t]!;
            // Near 0 two log-probs round to one number in a healthy run too.
            if (logprob > -0.01 || mask?.[t] === 0) continue;
            const before = seen.get(own[t]!);
            seen.set(own[t]!, logprob);
            if (before === undefined) continue;
            pairs++;
            // One is enough.
            if (before !== logprob) return pass({ completion: row, token: t });
          }
        }
        if (pairs < PAIRS) return notApplicable(`${PAIRS} repeated tokens`);
        return fail({ pairs });
      },
      says: (m) =>
        say`A token has the same log-prob at every position (all of ${m.pairs} pairs): all log-probs are read from one row of logits.`,
    }),
  ],
};
