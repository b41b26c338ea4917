import { largest, nonzero, sum, withoutNaN } from '../../maths/moments.js';
import { logCheck, stepCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { membersOf } from '../inputs.js';
import { valuesAt } from '../log-view.js';
import { overUpdates } from '../measures/over-updates.js';
import { fail, inform, notApplicable, type Outcome, pass, shorten, warn } from '../outcome.js';
import { percent, say } from '../sentence.js';

/** Share of skipped updates from which a run hardly trains. */
const MUCH = 0.5;

export const b44: Fault = {
  code: 'B44',
  name: 'skipped micro-batches',
  title: 'Micro-batches are skipped, but the divisor still counts them',
  checks: [
    stepCheck({
      code: 'B44.micro-steps',
      title: 'Every micro-batch of an update is executed',
      stage: 'loss',
      level: 6,
      rank: 3,
      threshold: 'executed = configured, or weights that sum to 1 over the executed micro-batches',
      why: 'Seen in a loop whose `continue` skipped micro-steps and kept the divisor.',
      remedy:
        'Divide by the number of executed micro-batches, and skip no step on which ranks exchange gradients.',
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
        say`${m.executed} of ${m.configured} micro-batches of an update were executed; the loss was divided by ${m.configured}.`,
    }),
    stepCheck({
      code: 'B44.completions',
      title: 'Every completion with an advantage is in an update',
      stage: 'loss',
      level: 6,
      rank: 2,
      threshold:
        'each completion with an advantage that is not 0, and not masked as a whole, is in as many updates as the rollout has passes, where all updates of the rollout are recorded',
      why: 'A last micro-batch that is lost leaves a part of the step out of the gradient; the others then weigh too little for what is summed, or too much.',
      remedy: 'Look at how an update is cut into micro-batches: its last ones, and what is left over.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B41', 'B43', 'B46'],
      proofs: ['native'],
      needs: ['updates', 'advantages', 'lengths', 'masks', 'declared'],
      test({ updates, advantages, lengths, masks, declared }, record) {
        if (updates.length !== declared.updatesPerRollout) return notApplicable('all updates of the rollout');
        const times = new Map<number, number>();
        for (const update of updates)
          for (const b of membersOf(record, update)) times.set(b, (times.get(b) ?? 0) + 1);
        const passes = largest([...times.values()]);
        const finish = declared.objective?.maskTruncated ? record.completions?.finish : undefined;
        // A completion in no update was not scored, and has no mask.
        const isLearnt = (b: number) =>
          advantages[b] !== 0 &&
          lengths[b]! > 0 &&
          finish?.[b] !== 'length' &&
          (masks[b]!.length === 0 || nonzero(masks[b]!) > 0);
        const learnt = [...lengths.keys()].filter(isLearnt);
        const missed = learnt.filter((b) => (times.get(b) ?? 0) < passes);
        const measured = { completions: learnt.length, missed: missed.length };
        return missed.length === 0
          ? pass(measured)
          : fail(
              measured,
              missed.map((completion) => ({ completion, values: { updates: times.get(completion) ?? 0 } })),
            );
      },
      says: (m) =>
        say`${m.missed} of ${m.completions} completions with an advantage are not in every pass over the rollout: what they would teach is lost.`,
    }),
    logCheck({
      code: 'B44.log',
      title: 'Every micro-step is executed, or the divisor counts only the executed ones',
      stage: 'loss',
      level: 6,
      rank: 8,
      threshold:
        'number of micro-steps with a loss = divisor of the loss (computed from its parts; the configured number if they are missing)',
      why: 'Seen in a loop whose `continue` skipped micro-steps and kept the divisor.',
      remedy:
        'Fetch another batch and do the micro-step again, or divide by the number that was executed. With several ranks, never skip the last micro-step: it sums the gradients over the ranks.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      proofs: ['native', 'log only'],
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
        say`${m.executed} micro-steps were executed, but the loss was divided by ${m.divisor} (in ${m.short} of ${m.entries} entries): the gradient is too small by the skipped share.`,
    }),
    logCheck({
      code: 'B44.told',
      title: 'The trainer skips no updates',
      stage: 'optimizer',
      level: 6,
      rank: 3,
      threshold: `no line says that an update, a step or a batch is skipped, and no entry has the flag; it warns from ${percent(MUCH)} of the entries on`,
      why: 'Seen in a run whose guard took every gradient for too large: it ended with the weights that it began with, and said that it was done. A step without a signal is rightly skipped, but it teaches nothing.',
      remedy:
        'Find out why: rewards that are equal in every group need other prompts or a finer reward; gradients beyond a limit need clipping, a lower learning rate or a loss that is a mean; values that are not finite need the step of their first appearance.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      induces: ['B62'],
      settles: 'The weights of two checkpoints: equal bits were never updated.',
      needs: [],
      test(log): Outcome<{ entries: number; skipped: number; said?: string }> {
        const { skips, entries } = log.series;
        const flags = withoutNaN(log.column('skipped'));
        if ((!skips && flags.length === 0) || log.has('micro_steps/executed'))
          return notApplicable('lines or flags of skipped updates, without a number of micro-steps');
        const skipped = Math.max(skips?.count ?? 0, sum(flags));
        const measured = {
          entries: entries.length,
          skipped,
          ...(skips && { said: `${shorten(skips.text)} (line ${skips.line})` }),
        };
        if (skipped === 0) return pass(measured);
        return skipped >= MUCH * entries.length ? warn(measured) : inform(measured);
      },
      says: (m) =>
        say`${m.said === undefined ? say`${m.skipped} of ${m.entries} entries have the flag of a skipped update.` : say`${m.skipped} ${m.skipped === 1 ? 'line says' : 'lines say'} that something of an update was skipped, beside ${m.entries} entries: ${m.said}.`} What is skipped trains nothing.`,
    }),
  ],
};
