import { stepCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { compareFirst, ofFirstUpdate } from '../measures/first-update.js';
import { judge, nearestSetting, PATH } from '../measures/plain-scoring.js';
import { fail, notApplicable, pass } from '../outcome.js';
import { say } from '../sentence.js';
import { compare } from '../tolerance.js';

/** How much better a shifted comparison must fit to be named. */
const CLEARLY = 0.5;
/** Nats per token by which scoring may miss the sampler’s log-prob before something other than rounding must be the cause. */
const NOT_ROUNDING = 0.5;

export const b35: Fault = {
  code: 'B35',
  name: 'shifted logits',
  title: 'Logits and tokens are shifted against each other',
  checks: [
    stepCheck({
      code: 'B35.plain',
      title: 'A token is scored by the logits before it',
      stage: 'logprob',
      level: 3,
      rank: 3,
      threshold:
        'if sampler and trainer disagree, the policy’s log-probs of a completion must not fit the logits one position away within the tolerance of the precision',
      sources: ['huggingface/trl@f2cd57710ae3:trl/trainer/grpo_trainer.py'],
      remedy: 'logits[i] predict ids[i + 1]: drop the last row of logits and the first id.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B19', 'B36', 'B38', 'B39', 'B51', 'B55'],
      proofs: ['native'],
      needs: ['probes'],
      test({ probes: { plainScoring } }, record) {
        const straight = plainScoring?.find(({ shift, support }) => shift === 0 && !support);
        const shifted = plainScoring?.filter(({ shift }) => shift !== 0) ?? [];
        if (!straight?.policy.tokens || shifted.length === 0) return notApplicable(PATH);
        const best = nearestSetting(shifted, 'policy');
        const measured = { gap: straight.policy.mean, shift: best.shift, gapThere: best.policy.mean };
        return judge(straight.policy.mean, best.policy.mean, measured, record);
      },
      says: (m) =>
        say`Tokens are scored by the logits ${m.shift} position away: the log-probs differ by ${m.gapThere} nat per token from those there, and by ${m.gap} from those at their own position.`,
    }),
    stepCheck({
      code: 'B35.shift',
      title: 'The logits before a token score it',
      stage: 'logprob',
      level: 3,
      rank: 4,
      threshold: `mean |policy − sampler| ≤ ${NOT_ROUNDING} nat, or no better fit to the token before or after`,
      sources: ['huggingface/trl@f2cd57710ae3:trl/trainer/grpo_trainer.py'],
      remedy: 'logits[i] predict ids[i + 1]: drop the last row of logits and the first id.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B36', 'B38', 'B39', 'B40', 'B49', 'B51', 'B19'],
      needs: ['firstPolicyLogprobs', 'comparableLogprobs'],
      test({ firstPolicyLogprobs, comparableLogprobs }, record) {
        const straight = compareFirst(record, firstPolicyLogprobs, comparableLogprobs);
        if (straight.tokens === 0) return notApplicable('completions scored in the sampled length');
        if (!(straight.mean > NOT_ROUNDING)) return pass({ meanGap: straight.mean });
        const shifted = (by: number) =>
          compare(
            firstPolicyLogprobs.map((row) => row.subarray(Math.max(0, by), row.length + Math.min(0, by))),
            ofFirstUpdate(record, comparableLogprobs).map((row) =>
              row.subarray(Math.max(0, -by), row.length - Math.max(0, by)),
            ),
          ).mean;
        const by = shifted(1) < shifted(-1) ? 1 : -1;
        const measured = { meanGap: straight.mean, shifted: shifted(by), by };
        return measured.shifted < CLEARLY * straight.mean ? fail(measured) : pass(measured);
      },
      says: (m) =>
        say`Log-probs differ from the sampler's by ${m.meanGap} nats, and by only ${m.shifted} when shifted by ${m.by} token: each token is scored by the wrong logits.`,
    }),
  ],
};
