import { sum, withoutNaN } from '../../maths/moments.js';
import { logCheck, stepCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { valuesAt } from '../log-view.js';
import { overUpdates } from '../measures/over-updates.js';
import { fail, notApplicable, pass } from '../outcome.js';
import { say } from '../sentence.js';

export const b44: Fault = {
  code: 'B44',
  name: 'skipped micro-batches',
  title: 'Micro-steps are skipped, and the divisor stays',
  checks: [
    stepCheck({
      code: 'B44.micro-steps',
      title: 'Every micro-batch of an update is executed',
      stage: 'loss',
      kind: 'identity',
      level: 6,
      rank: 3,
      threshold: 'executed = configured, or weights that sum to 1 over what was executed',
      sources: [],
      why: 'Seen in a loop whose `continue` dropped work and kept the divisor.',
      remedy: 'Divide by what was executed, and skip no step on which ranks exchange gradients.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B43'],
      proofs: ['native'],
      needs: ['updates'],
      test: ({ updates }) =>
        overUpdates(updates, ({ microBatches, weights }) => {
          if (!microBatches) return 'updates.microBatches';
          const whole = weights !== undefined && Math.abs(sum(weights) - 1) <= 1e-3;
          return microBatches.executed === microBatches.configured || whole
            ? undefined
            : { values: { executed: microBatches.executed, configured: microBatches.configured } };
        }),
      says: (m) =>
        say`${m.executed} of ${m.configured} micro-batches of an update were executed, and the loss was divided by the number of all.`,
    }),
    logCheck({
      code: 'B44.log',
      title: 'Every micro-step is executed, or the divisor counts only those that are',
      stage: 'loss',
      kind: 'identity',
      level: 6,
      rank: 8,
      threshold:
        'micro-steps that came to a loss = what the loss is divided by (read off its parts; the configured number where these are missing)',
      sources: [],
      why: 'Seen in a loop whose `continue` dropped work and kept the divisor.',
      remedy:
        'Fetch another batch and do the micro-step again, or divide by the number that was executed. With several ranks, the last one must not be left out: it is the one that sums the gradients.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      proofs: ['log only'],
      needs: ['micro_steps', 'micro_steps/executed'],
      test(log) {
        const [configured, executed, divisor] = [
          log.column('micro_steps'),
          log.column('micro_steps/executed'),
          log.column('loss_divisor'),
        ];
        const dividedBy = (i: number) =>
          Number.isNaN(divisor[i]!) ? configured[i]! : Math.round(divisor[i]!);
        const short = [...executed.keys()].filter((i) => executed[i]! < dividedBy(i));
        if (withoutNaN(executed).length === 0) return notApplicable('micro-steps');
        const [first] = short;
        const measured = {
          entries: withoutNaN(executed).length,
          short: short.length,
          ...(first !== undefined && { executed: executed[first]!, divisor: dividedBy(first) }),
        };
        const names = ['micro_steps/executed', 'micro_steps'];
        return short.length > 0
          ? fail(
              measured,
              short.map((i) => valuesAt(log, i, names)),
            )
          : pass(measured);
      },
      says: (m) =>
        say`${m.executed} micro-steps were executed and the loss was divided by ${m.divisor} (in ${m.short} of ${m.entries} entries): the gradient is too small by the skipped share.`,
    }),
  ],
};
