import { sum, withoutNaN } from '../../maths/moments.js';
import { median } from '../../maths/quantile.js';
import { logCheck, stepCheck } from '../check.js';
import { movementOf } from '../course/movements.js';
import type { Fault } from '../fault.js';
import { type LogView, valuesAt } from '../log-view.js';
import { FEWEST_PARTS, NEAR, partsOf } from '../measures/loss-parts.js';
import { lossTerms } from '../measures/loss-terms.js';
import { overUpdates } from '../measures/over-updates.js';
import { inform, notApplicable, type Outcome, pass, warn } from '../outcome.js';
import { formOf } from '../recompute/form.js';
import { say } from '../sentence.js';
import { roundingOf, WITHIN_ROUNDING } from '../tolerance.js';

/** Fewest entries for a metric that never moves. */
const FEW = 16;

/** A KL that only a policy that moved has, in nats per token. */
const MOVED = 1e-3;

/** What rounding in float32 leaves of terms that cancel each other. */
const CANCELLED = 1e-6;

/** Size of a mean of advantages, which rounding leaves. */
const CENTRED = 1e-5;

/** Weight of an entropy bonus that is ten times what trainers of language models use. */
const LARGE_BONUS = 0.1;

/** Metrics that cannot be 0 throughout, and what contradicts it. */
const MONITORS: Readonly<Record<'entropy' | 'completions/mean_length' | 'kl', (log: LogView) => boolean>> = {
  entropy: ({ course }) => (course.of('flat')?.mean ?? 0) < 1 && (course.of('reward')?.noise ?? 0) > 0,
  'completions/mean_length': () => true,
  kl: (log) =>
    (['entropy', 'length', 'cut', 'reward'] as const).some((quantity) => movementOf(log.course, quantity)) ||
    // Clipped tokens show that the policy moved.
    withoutNaN(log.column('clip_ratio/region_mean')).some((share) => share > 0),
};

export const b43: Fault = {
  code: 'B43',
  name: 'logged loss',
  title: 'The logged loss is not the optimised loss',
  checks: [
    stepCheck({
      code: 'B43.components',
      title: 'The parts of the loss sum to the loss',
      stage: 'loss',
      level: 6,
      rank: 3,
      threshold: `|Σ coefficient × value − loss| within ${WITHIN_ROUNDING}, of the largest part, and ${CANCELLED} of the tokens’ terms`,
      sources: ['huggingface/trl@f2cd57710ae3:trl/trainer/grpo_trainer.py'],
      remedy: 'Log the loss that is optimised, and its parts with the signs with which they enter it.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      proofs: ['native'],
      needs: ['updates'],
      test: ({ updates }, record) =>
        overUpdates(updates, (update) => {
          const { components, loss } = update;
          if (!components?.length || !Number.isFinite(loss))
            return 'updates.components and a finite updates.loss';
          const parts = components.map(({ coefficient, value }) => coefficient * value);
          const scale = Math.max(1e-6, ...parts.map(Math.abs), Math.abs(loss!));
          const terms = lossTerms(record, update);
          const size = typeof terms === 'string' ? 0 : terms.size;
          return Math.abs(sum(parts) - loss!) <= roundingOf(record) * scale + CANCELLED * size
            ? undefined
            : { values: { sum: sum(parts), loss: loss! } };
        }),
      says: (m) => say`The components of the loss sum to ${m.sum}; the loss is ${m.loss}.`,
    }),
    stepCheck({
      code: 'B43.terms',
      title: 'The weighted terms of the tokens sum to the loss',
      stage: 'loss',
      level: 6,
      rank: 3,
      threshold: `|Σ (policy × weight + β × KL × its weight) − c × entropy − loss| within ${WITHIN_ROUNDING}, of Σ |…|; β is 0 if the KL is in the reward; the entropy is the mean over the tokens that keep their policy term`,
      sources: ['huggingface/trl@f2cd57710ae3:trl/trainer/grpo_trainer.py'],
      remedy:
        'Look for a part of the loss that is lost, for tokens that enter it twice or not at all, and for a normaliser applied twice.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      proofs: ['native'],
      needs: ['updates', 'declared'],
      test: ({ updates }, record) =>
        overUpdates(updates, (update) => {
          const own = lossTerms(record, update);
          if (typeof own === 'string') return own;
          const { terms, kl, size, bonus, loss } = own;
          const total = terms - bonus;
          const rounding = roundingOf(record) * Math.max(size + Math.abs(bonus), 1e-6);
          const isLoss = (value: number) => Math.abs(value - loss) <= rounding;
          if (isLoss(total)) return undefined;
          const lost = isLoss(total - kl) ? 'KL' : isLoss(terms) ? 'entropy bonus' : undefined;
          const part = lost === 'KL' ? kl : bonus;
          return { values: { sum: total, loss, ...(lost && { lost, part }) } };
        }),
      says: (m) =>
        say`The weighted terms of the tokens sum to ${m.sum}; the loss is ${m.loss}.${m.lost === undefined ? '' : say` That is the sum without the ${m.lost}, ${m.part!}: it is not in the loss.`}`,
    }),
    logCheck({
      code: 'B43.log',
      title: 'The logged loss is the loss of the whole step',
      stage: 'loss',
      level: 6,
      rank: 9,
      threshold:
        'loss = mean of the micro-steps’ losses, within 1 % or 1e-3; it only informs: the log is wrong, not the training',
      sources: ['huggingface/trl@f2cd57710ae3:trl/trainer/grpo_trainer.py'],
      why: 'Another log had the loss of the last micro-step × the number of micro-steps.',
      remedy: 'Log the sum of the back-propagated losses.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      needs: ['loss', 'policy_loss', 'kl_penalty', 'micro_steps/executed'],
      test(log) {
        if (log.declared.kl?.place === 'reward' || log.declared.entropy?.coefficient)
          return notApplicable('a loss of policy term and KL alone');
        const [loss, policy, kl, executed] = [
          'loss',
          'policy_loss',
          'kl_penalty',
          'micro_steps/executed',
        ].map((name) => log.column(name)) as [Float64Array, Float64Array, Float64Array, Float64Array];
        const judged = [...loss.keys()].filter(
          (i) => executed[i]! > 1 && Number.isFinite(policy[i]! + kl[i]!),
        );
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
              off.map((i) => valuesAt(log, i, ['loss', 'policy_loss', 'kl_penalty'])),
            )
          : pass(measured);
      },
      says: (m) =>
        say`In ${m.off} of ${m.entries} entries the logged loss is not the mean over the micro-steps (${m.loss} against ${m.mean}): it is the loss of one micro-step.`,
    }),
    logCheck({
      code: 'B43.signs',
      title: 'A KL adds to the loss, and an entropy bonus takes a little from it',
      stage: 'loss',
      level: 6,
      rank: 8,
      threshold: `where loss − policy_loss is a multiple of the KL, of the entropy, or the sum of two such, within ${100 * NEAR} % of its size and of its variance over ${FEWEST_PARTS} entries or more, that of the KL is above 0 and that of the entropy below; at ratio 1 the loss is judged without a policy_loss, whose value is 0 there; parts of less than a tenth are not judged; an entropy of weight below −${LARGE_BONUS} informs`,
      sources: ['PKU-Alignment/omnisafe#133'],
      why: 'A loss is minimized: a KL of negative weight pays for leaving the reference, an entropy of positive weight for one answer to each prompt.',
      remedy: 'loss = policy term + β × KL − coefficient × entropy, with the gradients of both.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B17', 'B30', 'B49', 'B54', 'B61'],
      settles: 'The line that adds the term to the loss.',
      needs: ['loss'],
      test(log): Outcome<{ entries: number; name: string; weight: number }> {
        const [loss, policy] = [log.column('loss'), log.column('policy_loss')];
        const isAtOne = withoutNaN(log.column('ratio/mean')).every((ratio) => Math.abs(ratio - 1) <= 1e-6);
        if (!log.has('policy_loss') && !(log.has('ratio/mean') && isAtOne))
          return notApplicable('policy_loss, or a ratio of 1 throughout');
        const rest = log.has('policy_loss') ? loss.map((value, i) => value - policy[i]!) : loss;
        const found = partsOf(rest, [log.column('kl'), log.column('entropy')]);
        if (!found) return notApplicable('a loss that is policy_loss and multiples of KL and entropy');
        const { entries } = found;
        const [kl, entropy] = found.weights as [number, number];
        if (kl < 0) return warn({ entries, name: 'kl', weight: kl });
        if (entropy > 0) return warn({ entries, name: 'entropy', weight: entropy });
        if (entropy < -LARGE_BONUS) return inform({ entries, name: 'bonus', weight: -entropy });
        return pass({ entries });
      },
      says: (m) =>
        m.name === 'bonus'
          ? say`The loss takes ${m.weight} × entropy, in ${m.entries} entries: with normalised advantages a bonus above 0.01 or so pays more for noise than for answers.`
          : m.name === 'kl'
            ? say`The loss has ${m.weight} × KL beside the policy's part, in ${m.entries} entries: the KL has the wrong sign, and training pays for leaving the reference.`
            : say`The loss has ${m.weight} × entropy beside the policy's part, in ${m.entries} entries: the bonus has the wrong sign, and lowers the entropy.`,
    }),
    logCheck({
      code: 'B43.loss-log',
      title: 'At ratio 1 the loss is β × KL',
      stage: 'loss',
      level: 6,
      rank: 11,
      threshold:
        '|loss − β × KL| ≤ 1e-3 + half of |β × KL| in at least half of 5 entries or more; for a clipped loss in which each completion counts the same (grpo, gspo), one update per rollout, and advantages that sum to 0 in a group; β as logged, else as declared; the logged KL is a mean over tokens',
      sources: ['huggingface/trl#2703'],
      why: 'The logged KL is a mean over tokens, so the two agree only up to the lengths of the completions.',
      remedy:
        'Log the loss that is optimised: the mean over micro-batches, with the signs with which its parts enter.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      settles: 'The record of a step: the parts of the loss, and their sum.',
      needs: ['loss', 'kl'],
      test(log) {
        const { beta, place } = log.declared.kl ?? {};
        if (beta === undefined || !isKlAlone(log))
          return notApplicable('a loss that is β × KL at ratio 1, with a β, all declared');
        const judged = log.series.entries.flatMap(({ step, values }) => {
          const weight = place === 'reward' ? 0 : (values.beta ?? beta);
          return Number.isFinite(values.loss! * values.kl!)
            ? [{ step, value: values.loss!, expected: weight * values.kl! }]
            : [];
        });
        if (judged.length < 5) return notApplicable('5 entries');
        const off = judged.filter(
          ({ value, expected }) => Math.abs(value - expected) > 1e-3 + 0.5 * Math.abs(expected),
        );
        const measured = { entries: judged.length, off: off.length };
        const evidence = off.map(({ step, ...values }) => ({ step, text: 'loss', values }));
        return off.length > judged.length / 2 ? warn(measured, evidence) : pass(measured);
      },
      says: (m) =>
        say`In ${m.off} of ${m.entries} entries the loss is far from β × KL, its value at ratio 1: the logged loss is not the declared one.`,
    }),
    logCheck({
      code: 'B43.zero',
      title: 'The loss has a value that shows something',
      stage: 'loss',
      level: 8,
      rank: 11,
      threshold: `not exactly 0 in half of the entries or more, unless the gradient is 0 there, too, or no group has a signal. It only informs: a loss of 0 is no fault beside a gradient, or a KL of ${MOVED} and more`,
      sources: [
        'huggingface/trl#2703',
        'huggingface/trl#3452',
        'huggingface/open-r1#239',
        'unslothai/unsloth#2291',
      ],
      why: 'At ratio 1 the loss is −Σ A over the completions, and the advantages of a group sum to 0; the gradient is −Σ A ∇ log π, which does not. Reports that took such a loss for a fault.',
      remedy: 'Judge the run by its reward, and each update by the gradient norm.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      settles: 'The gradient norm, or a checksum of the weights before and after a step.',
      aside: true,
      needs: ['loss', 'reward'],
      test(log): Outcome<{ entries: number; zero: number; shown: string; value: number }> {
        if (log.isEstimated) return notApplicable('log-probs that are no estimates');
        const [loss, norms, kl] = ['loss', 'grad_norm', 'kl'].map((name) => log.column(name)) as [
          Float64Array,
          Float64Array,
          Float64Array,
        ];
        const entries = withoutNaN(loss).length;
        // Without a signal, too, the gradient of the KL is left.
        const flat = new Set(log.course.flatShares.flatMap(({ step, value }) => (value === 1 ? [step] : [])));
        const zero = [...loss.keys()].filter((i) => loss[i] === 0 && !flat.has(log.steps[i]!));
        const values = withoutNaN(Float64Array.from(zero, (i) => norms[i]!)).filter((norm) => norm > 0);
        const most = kl.filter(Number.isFinite).reduce((a, b) => Math.max(a, b), 0);
        const [shown, value] =
          values.length > 0
            ? ['gradient', median(values)]
            : log.has('grad_norm')
              ? ['none', 0]
              : most >= MOVED
                ? ['kl', most]
                : ['unknown', 0];
        const measured = { entries, zero: zero.length, shown, value };
        // B45 and B53 judge a gradient of 0.
        return zero.length === 0 || 2 * zero.length < entries || shown === 'none'
          ? pass(measured)
          : inform(measured);
      },
      says: (m) => {
        const shown: Readonly<Record<string, string>> = {
          gradient: say`is no fault, the gradient has a norm of ${m.value}: it trains`,
          kl: say`is no fault, the KL rises to ${m.value}: it trains`,
          unknown:
            'is no fault by itself; the gradient norm, which this log lacks, would show whether it trains',
        };
        return say`A loss of 0 (${m.zero} of ${m.entries} ${m.entries === 1 ? 'entry' : 'entries'}) ${shown[m.shown]}. At ratio 1 the advantages of a group cancel in the value of the loss, not in its gradient, and β × KL is left. Only the reward shows whether the run learns.`;
      },
    }),
    logCheck({
      code: 'B43.monitors',
      title: 'Metrics of the log are measured',
      stage: 'loss',
      level: 8,
      rank: 12,
      threshold: `over ${FEW} entries or more, not exactly 0 throughout, and a number somewhere: the entropy while completions of a prompt earn different rewards, the length, and the KL while entropy, length, truncation or reward move, or tokens are clipped`,
      why: 'An entropy of 0 leaves one text per prompt, no completion has 0 tokens, and a policy that changed has a KL: nobody feeds these numbers.',
      remedy:
        'Feed the metric, or leave it out of the log: a 0 that is never measured hides what it should show.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      settles:
        'The line of the trainer that logs it; a KL needs a reference, and in most trainers a β above 0.',
      needs: [],
      test(log): Outcome<{ entries: number; names: string; value: number; isLossFinite: boolean }> {
        const names = Object.keys(MONITORS) as (keyof typeof MONITORS)[];
        const { entries } = log.series;
        const empty = names.filter((name) => !log.has(name) && entries.some(({ values }) => name in values));
        const dead = names.filter((name) => {
          const known = withoutNaN(log.column(name));
          return known.length >= FEW && known.every((value) => value === 0) && MONITORS[name](log);
        });
        const [unfed, value] = dead.length > 0 ? [dead, 0] : [empty, Number.NaN];
        if (unfed.length > 0)
          return inform(
            { entries: entries.length, names: unfed.join(' and '), value, isLossFinite: log.has('loss') },
            unfed.map((text) => ({ step: log.steps[0]!, text, values: { value } })),
          );
        return entries.length < FEW || !names.some((name) => log.has(name))
          ? notApplicable(`${FEW} entries with entropy, length or KL`)
          : pass({ entries: entries.length });
      },
      says: (m) => {
        const are = say`${m.names} ${m.names.includes(' and ') ? 'are' : 'is'}`;
        return m.value === 0
          ? say`${are} exactly 0 in all ${m.entries} entries, which the other metrics contradict: nobody feeds it, so it shows nothing${m.names === 'kl' ? ', or the reference is the policy itself, which moves with it' : ''}.`
          : say`${are} no number in ${m.entries === 1 ? 'the one entry' : say`any of ${m.entries} entries`}${m.isLossFinite ? say`, while the loss is finite, so it is no part of it${m.names === 'kl' ? ': with a β of 0 most trainers compute no KL' : ''}` : ': it shows nothing, and if the loss has it as a term, the loss is lost, too'}.`;
      },
    }),
    logCheck({
      code: 'B43.centred',
      title: 'The logged reward is the reward',
      stage: 'reward',
      level: 4,
      rank: 1,
      threshold: `the median of |reward| over ${FEWEST_PARTS} entries or more is above ${CENTRED}, or 0`,
      why: 'The mean of the advantages is 0 but for rounding; rewards are not.',
      remedy: 'Log the mean of the rewards before the mean of each group is subtracted from them.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      settles: 'The rewards of one step beside the logged number.',
      proofs: ['log only'],
      needs: ['reward'],
      test(log) {
        const rewards = withoutNaN(log.column('reward'));
        if (rewards.length < FEWEST_PARTS) return notApplicable(`${FEWEST_PARTS} entries`);
        const usual = median(rewards.map(Math.abs));
        const measured = { entries: rewards.length, usual };
        return usual > 0 && usual <= CENTRED ? warn(measured) : pass(measured);
      },
      says: (m) =>
        say`The logged reward is 0 but for rounding (${m.usual} in the median of ${m.entries} entries): it is the mean of the advantages, or of rewards from which their mean was subtracted, and does not tell whether the run learns.`,
    }),
  ],
};

/** Whether the policy's part of the loss is 0 at ratio 1, and the KL's is all that is left. */
function isKlAlone(log: LogView): boolean {
  const { declared } = log;
  const form = formOf(declared);
  const { objective = {}, advantage = {}, entropy = {}, correction = {} } = declared;
  const isZeroSum = advantage.baseline !== 'none' && advantage.flat !== 'raw' && advantage.clip === undefined;
  const isWhole =
    !objective.maskTruncated &&
    (entropy.topShare ?? 1) === 1 &&
    (correction.level ?? 'off') === 'off' &&
    objective.offPolicyThreshold === undefined;
  return (
    typeof form === 'object' &&
    form.policy === 'clip' &&
    form.aggregation === 'sequence_mean' &&
    declared.updatesPerRollout === 1 &&
    isZeroSum &&
    isWhole &&
    (entropy.coefficient ?? 0) === 0 &&
    // A β of each kind, an entropy bonus that comes and goes, groups of an earlier policy.
    log.names(/^(beta\/|entropy_coef$|groups_replayed$)/).length === 0
  );
}
