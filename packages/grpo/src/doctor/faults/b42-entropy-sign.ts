import { longestRun } from '../../maths/trend.js';
import { ENTROPY_SHARE, type StepRecord, type UpdateRecord } from '../../trace/index.js';
import { logCheck, stepCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { lossTerms } from '../measures/loss-terms.js';
import { overUpdates } from '../measures/over-updates.js';
import { type EvidenceOf, fail, notApplicable, type Outcome, pass, warn } from '../outcome.js';
import { say } from '../sentence.js';
import { roundingOf } from '../tolerance.js';

/** How an entropy term shows that it raises the loss: by the entropy of a tiny step, in the gradient, or by the term itself. */
type Raised = { entropyChange?: number; share?: number; coefficient?: number; value?: number };

export const b42: Fault = {
  code: 'B42',
  name: 'entropy sign',
  title: 'The entropy term has the wrong sign',
  left: 'live model',
  checks: [
    stepCheck({
      code: 'B42.sign',
      title: 'The entropy bonus lowers the loss',
      stage: 'loss',
      level: 6,
      rank: 7,
      threshold:
        'coefficient × entropy ≤ 0 in the loss: as logged, or as what the terms of the tokens leave of it; the same of the gradient, where the audit has its share of the entropy; a tiny step along the bonus alone does not lower the entropy',
      sources: [
        'huggingface/trl@f2cd57710ae3:trl/trainer/grpo_trainer.py',
        'PKU-Alignment/omnisafe#133',
        'nebuly-ai/optimate#250',
      ],
      why: 'The bonus is subtracted from the loss.',
      remedy: 'loss = … − coefficient × entropy, with the gradient of the entropy itself.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B43', 'H06', 'H12'],
      proofs: ['native', 'TRL run'],
      needs: ['updates', 'declared'],
      test({ updates, declared }, record): Outcome<Raised> {
        const coefficients = updates.map(
          ({ entropyCoefficient = declared.entropy?.coefficient ?? 0 }) => entropyCoefficient,
        );
        if (!coefficients.some((coefficient) => coefficient > 0)) return notApplicable('an entropy bonus');
        const change = record.probes?.tinyStep?.entropyChange;
        if (change !== undefined && change < 0) return fail({ entropyChange: change });
        const share = record.audit?.comparisons.find(({ quantity }) => quantity === ENTROPY_SHARE);
        if (share && Number(share.found) > 0 && share.deviation > share.bound)
          return fail({ share: Number(share.found) });
        return overUpdates<Raised>(updates, (update) => {
          const part = update.components?.find(({ name }) => name === 'entropy');
          if (!part) return share ? undefined : bonusMiss(record, update);
          return part.coefficient * part.value <= 0
            ? undefined
            : { values: { coefficient: part.coefficient, value: part.value } };
        });
      },
      says: (m) =>
        m.entropyChange !== undefined
          ? 'A tiny step along the loss lowers the entropy, although a bonus is declared: its sign is wrong.'
          : m.share !== undefined
            ? say`The gradient of the loss contains that of the entropy × ${m.share}, where a bonus has a minus: its sign is wrong, and it lowers the entropy.`
            : 'The entropy bonus raises the loss: its sign is wrong, and it lowers the entropy.',
    }),
    logCheck({
      code: 'B42.log',
      title: 'A larger entropy bonus does not lower the entropy',
      stage: 'loss',
      level: 6,
      rank: 10,
      threshold:
        'reported when the coefficient rises three times in a row or more, fivefold in all, and the entropy is lower after each rise and halved in the end; a controller that raises it in small steps may lag behind',
      sources: ['PKU-Alignment/omnisafe#133', 'verl-project/verl#5953'],
      why: 'In another run the coefficient went from 0.2 to 6 while the policy collapsed.',
      remedy: 'Check the sign of the gradient, not of the logged value: loss = … − coefficient × entropy.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B17', 'B30', 'B54'],
      settles: 'A tiny step with advantages 0 and β 0: the entropy must rise.',
      proofs: ['log only'],
      needs: ['entropy', 'entropy_coef'],
      test(log) {
        const [entropy, coefficient] = [log.column('entropy'), log.column('entropy_coef')];
        const raised = [...coefficient.keys()].filter((i) => i > 0 && coefficient[i]! > coefficient[i - 1]!);
        if (raised.length < 3) return notApplicable('three rises of the coefficient');
        const afterRise = (n: number) => entropy[(raised[n + 1] ?? entropy.length) - 1]!;
        const falls = raised.map((i, n) => Number(afterRise(n) < entropy[i - 1]!));
        const { start, length } = longestRun(falls, (fell) => fell === 1);
        const [first, last] = [raised[start]!, raised[start + length - 1]!];
        const measured = {
          rises: raised.length,
          inARow: length,
          ...(length > 0 && {
            from: coefficient[first - 1]!,
            to: coefficient[last]!,
            before: entropy[first - 1]!,
            after: afterRise(start + length - 1),
          }),
        };
        if (length < 3) return pass(measured);
        const { from = 0, to = 0, before = 0, after = 0 } = measured;
        return to >= 5 * from && after <= before / 2
          ? warn(measured, [{ step: log.steps[last]!, values: { entropy_coef: to, entropy: after } }])
          : pass(measured);
      },
      says: (m) =>
        say`The entropy coefficient was raised ${m.inARow} times in a row, from ${m.from} to ${m.to}, and the entropy fell each time, from ${m.before} to ${m.after} nats per token: the bonus probably has the wrong sign.`,
    }),
  ],
};

/** Where the loss is what the terms of its tokens sum to and the bonus on top of it, not less the bonus. */
function bonusMiss(record: StepRecord, update: UpdateRecord): EvidenceOf<Raised> | string | undefined {
  const own = lossTerms(record, update);
  if (typeof own === 'string') return `an entropy component in updates.components; ${own}`;
  const { terms, size, bonus, loss } = own;
  const rounding = roundingOf(record) * Math.max(size + bonus, 1e-6);
  if (bonus <= rounding) return 'an entropy bonus above rounding';
  return Math.abs(terms + bonus - loss) <= rounding
    ? { values: { coefficient: 1, value: bonus } }
    : undefined;
}
