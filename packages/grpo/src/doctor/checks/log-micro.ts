/** Logs of micro-steps: whether all were done, and whether they had anything to train on. */
import { logCheck } from '../check.js';
import type { LogView } from '../log-view.js';
import { type Evidence, fail, inform, notApplicable, pass } from '../outcome.js';
import { known } from '../trend.js';

const consequence = { rerun: 'GRPO', checkpointsVoid: true } as const;

const at = (log: LogView, index: number, names: readonly string[]): Evidence => ({
  step: log.steps[index]!,
  values: Object.fromEntries(names.map((name) => [name, log.column(name)[index]!])),
});

export const microLogChecks = [
  logCheck({
    code: 'B45.masks',
    title: 'There are positions to train on',
    stage: 'masks',
    kind: 'identity',
    level: 2,
    threshold: 'masked positions above 0 in some micro-step of every entry',
    source: 'identity; seed 003: a data configuration that masked nothing, so that every loss was 0',
    remedy:
      'Look at a batch as it comes from the data: it must hold the mask token. Then at the settings of the masking.',
    consequence,
    induces: ['B17', 'B20', 'B30', 'B43', 'B44', 'B45', 'B52', 'B53'],
    needs: ['masked_positions'],
    test(log) {
      const masked = log.column('masked_positions');
      const none = [...masked.keys()].filter((i) => masked[i] === 0);
      const measured = { entries: known(masked).length, none: none.length };
      return none.length > 0
        ? fail(
            measured,
            none.map((i) => at(log, i, ['masked_positions', 'loss'])),
          )
        : pass(measured);
    },
  }),
  logCheck({
    code: 'B44.log',
    title: 'Every micro-step is executed, or the divisor counts only those that are',
    stage: 'loss',
    kind: 'identity',
    level: 6,
    threshold:
      'micro-steps that came to a loss = what the loss is divided by (read off its parts; the configured number where these do not tell)',
    source: 'identity; seed 003: `continue` leaves a micro-step out, and the divisor stays',
    remedy:
      'Fetch another batch and do the micro-step again, or divide by the number that was executed. With several ranks, the last one must not be left out: it is the one that sums the gradients.',
    consequence,
    needs: ['micro_steps', 'micro_steps/executed'],
    test(log) {
      const [configured, executed, divisor] = [
        log.column('micro_steps'),
        log.column('micro_steps/executed'),
        log.column('loss_divisor'),
      ];
      const dividedBy = (i: number) => (Number.isNaN(divisor[i]!) ? configured[i]! : Math.round(divisor[i]!));
      const short = [...executed.keys()].filter((i) => executed[i]! < dividedBy(i));
      if (known(executed).length === 0) return notApplicable('micro-steps');
      const [first] = short;
      const measured = {
        entries: known(executed).length,
        short: short.length,
        ...(first !== undefined && { executed: executed[first]!, divisor: dividedBy(first) }),
      };
      const names = ['micro_steps/executed', 'micro_steps'];
      return short.length > 0
        ? fail(
            measured,
            short.map((i) => at(log, i, names)),
          )
        : pass(measured);
    },
  }),
  logCheck({
    code: 'B43.log',
    title: 'The logged loss is that of the whole step',
    stage: 'loss',
    kind: 'identity',
    level: 6,
    threshold:
      'loss = mean of the micro-steps’ losses, within 1 % or 1e-3; it only informs: the log is wrong, not the training',
    source: 'identity; seed 003: the last micro-step’s loss × their number is logged as the step’s',
    remedy: 'Log the sum of what was back-propagated.',
    consequence: { rerun: 'nothing', checkpointsVoid: false },
    needs: ['loss', 'policy_loss', 'kl_penalty', 'micro_steps/executed'],
    test(log) {
      const [loss, policy, kl, executed] = ['loss', 'policy_loss', 'kl_penalty', 'micro_steps/executed'].map(
        (name) => log.column(name),
      ) as [Float64Array, Float64Array, Float64Array, Float64Array];
      const judged = [...loss.keys()].filter((i) => executed[i]! > 1 && Number.isFinite(policy[i]! + kl[i]!));
      if (judged.length === 0) return notApplicable('several micro-steps with their losses');
      const off = judged.filter((i) => {
        const sum = policy[i]! + kl[i]!;
        return Math.abs(loss[i]! - sum) > Math.max(1e-3, 0.01 * Math.abs(sum));
      });
      const [first] = off;
      const measured = {
        entries: judged.length,
        off: off.length,
        ...(first !== undefined && { loss: loss[first]!, mean: policy[first]! + kl[first]! }),
      };
      return off.length > 0
        ? inform(
            measured,
            off.map((i) => at(log, i, ['loss', 'policy_loss', 'kl_penalty'])),
          )
        : pass(measured);
    },
  }),
];
