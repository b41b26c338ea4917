import { logCheck, stepCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { type LogView, valuesAt } from '../log-view.js';
import { type Evidence, fail, notApplicable, type Outcome, pass, warn } from '../outcome.js';
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
    logCheck({
      code: 'B37.log',
      title: 'Log-probs of completions that earn different rewards differ',
      stage: 'logprob',
      level: 3,
      rank: 3,
      threshold:
        'of a loss without a ratio, the policy loss is not exactly 0 in more than 1 % of the entries in which rewards differ and positions are masked; a trainer’s own warning of log-probs near 0 alone only warns',
      why: 'The policy loss without a ratio is −Σ A log π. It is 0 for advantages that differ only if all log-probs are 0, or equal. Seen in a loop whose model returned its last position alone.',
      remedy:
        'Print the shape of the logits beside that of the ids: a model that is called without targets may return the last position alone. Print the log-probs of two different completions.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B45', 'B52', 'B53'],
      proofs: ['log only'],
      needs: [],
      test(log): Outcome<{ entries: number; zero: number; warned: number; deviation: number }> {
        const warned = entriesWhere(log, (i) => log.column('warnings/zero_logprobs')[i]! > 0);
        const isPlain = log.declared.objective?.ratio === 'none' && log.has('policy_loss');
        const asked = isPlain ? entriesWhere(log, (i) => rewardsDiffer(log, i)) : [];
        const zero = asked.filter((i) => log.column('policy_loss')[i] === 0);
        if (asked.length + warned.length === 0)
          return notApplicable('a policy loss without a ratio, where rewards differ');
        const measured = {
          entries: asked.length,
          zero: zero.length,
          warned: warned.length,
          deviation: log.column('reward_std')[zero[0] ?? 0]!,
        };
        const seen = (at: readonly number[]) =>
          at.map((i) => valuesAt(log, i, ['policy_loss', 'reward_std']));
        if (zero.length > asked.length / 100) return fail(measured, seen(zero));
        return warned.length > 0 ? warn(measured, seen(warned)) : pass(measured);
      },
      says: (m) =>
        m.zero > 0
          ? say`In ${m.zero} of ${m.entries} entries the policy loss is exactly 0, although rewards differ (± ${m.deviation}) and the loss has no ratio: the log-probs are 0, or the same for all completions.`
          : say`In ${m.warned} entries the trainer itself warns that all log-probs are near 0.`,
    }),
  ],
};

/** Entries of a log in which positions are masked, as far as it tells, and that are as wanted. */
const entriesWhere = (log: LogView, isWanted: (i: number) => boolean): number[] =>
  [...log.steps.keys()].filter((i) => log.column('masked_positions')[i] !== 0 && isWanted(i));

/** Whether the rewards of some micro-step differ, and its advantages do so, too. */
function rewardsDiffer(log: LogView, i: number): boolean {
  const [micros, silent] = [log.column('micro_steps')[i]!, log.column('warnings/zero_advantages')[i]!];
  return (
    log.column('reward_std')[i]! > 0 && !(log.column('frac_reward_zero_std')[i]! >= 1) && !(silent >= micros)
  );
}
