import { nonzero, withoutNaN } from '../../maths/moments.js';
import { logCheck, stepCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { fromTheStart, valuesAt } from '../log-view.js';
import { overUpdates } from '../measures/over-updates.js';
import { type Evidence, fail, inform, notApplicable, type Outcome, pass, warn } from '../outcome.js';
import { say } from '../sentence.js';

const WORDS: Readonly<Record<string, string>> = {
  loss: 'loss',
  policy_loss: 'policy loss',
  grad_norm: 'gradient norm',
  kl: 'KL',
};

/** Matches losses and norms of PPO's critic. */
const OF_CRITIC = /^(?:critic|value|vf)[/_].*(?:loss|grad_norm)$/;

export const b45: Fault = {
  code: 'B45',
  name: 'nothing to train on',
  title: 'Nothing is left to train on, or the loss is NaN',
  checks: [
    logCheck({
      code: 'B45.masks',
      title: 'There are positions to train on',
      stage: 'masks',
      level: 2,
      rank: 4,
      threshold: 'masked positions above 0 in some micro-step of every entry',
      sources: ['huggingface/trl#3248'],
      why: 'In another run a data configuration masked nothing, so that every loss was 0.',
      remedy:
        'Check that a batch from the data contains the mask token. Then check the settings of the masking.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B17', 'B20', 'B30', 'B37', 'B43', 'B44', 'B45', 'B52', 'B53'],
      proofs: ['log only'],
      needs: ['masked_positions'],
      test(log) {
        const masked = log.column('masked_positions');
        const none = [...masked.keys()].filter((i) => masked[i] === 0);
        const measured = { entries: withoutNaN(masked).length, none: none.length };
        return none.length > 0
          ? fail(
              measured,
              none.map((i) => valuesAt(log, i, ['masked_positions', 'loss'])),
            )
          : pass(measured);
      },
      says: (m) =>
        say`No position was masked in ${m.none} of ${m.entries} entries: nothing is trained, so the loss is 0.`,
    }),
    stepCheck({
      code: 'B45.empty',
      title: 'At least one token is trained on',
      stage: 'masks',
      level: 6,
      rank: 1,
      threshold:
        'at least one token with mask 1; only warns if all completions were truncated and truncated completions are declared to be masked',
      sources: ['huggingface/trl#3248', 'unslothai/unsloth-zoo#1286'],
      why: 'A mask without tokens gives 0/0 or a loss of 0.',
      remedy:
        'Look at why every completion was masked: truncation with masking, or data without positions to train.',
      consequence: { rerun: 'GRPO', checkpointsVoid: false },
      induces: ['B43', 'B52', 'B53'],
      proofs: ['native'],
      needs: ['masks'],
      test(
        { masks },
        { advantages, declared, completions },
      ): Outcome<{ completions: number; empty: number; truncated?: boolean; ended?: boolean }> {
        if (advantages?.every((advantage) => advantage === 0))
          return notApplicable('an advantage other than 0');
        const empty = masks.filter((mask) => nonzero(mask) === 0).length;
        const measured = { completions: masks.length, empty };
        if (empty < masks.length) return pass(measured);
        // Then nothing is wrong in the code, but in the lengths.
        const truncated = completions?.finish?.every((reason) => reason === 'length') ?? false;
        // The mask takes the completions that it should leave.
        const ended =
          declared?.objective?.maskTruncated && completions?.finish?.every((reason) => reason !== 'length');
        return declared?.objective?.maskTruncated && truncated
          ? warn({ ...measured, truncated })
          : fail({ ...measured, ...(ended && { ended }) });
      },
      says: (m) =>
        m.truncated
          ? say`All ${m.completions} completions were truncated and therefore masked: nothing is left to train on.`
          : say`None of the ${m.completions} completions has a token to train on${m.ended ? ', though none of them was truncated: the mask of truncated completions takes the finished ones.' : '.'}`,
    }),
    stepCheck({
      code: 'B45.finite',
      title: 'Loss and gradient are finite',
      stage: 'loss',
      level: 6,
      // A term of the loss that is not finite says more.
      rank: 20,
      threshold: 'finite; a float16 gradient that overflows is skipped and only informs',
      sources: ['huggingface/trl#3248', 'unslothai/unsloth-zoo#1286'],
      why: 'A mask without tokens gives 0/0.',
      remedy: 'Look at the first log-prob, reward or ratio that is not finite.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B43', 'B52', 'B53', 'B54'],
      proofs: ['native'],
      needs: ['updates'],
      test({ updates }, { declared }) {
        const outcome = overUpdates(updates, ({ loss, gradNorm }) => {
          if (loss === undefined && gradNorm === undefined) return 'updates.loss or updates.gradNorm';
          const known = { ...(loss !== undefined && { loss }), ...(gradNorm !== undefined && { gradNorm }) };
          return Object.values(known).every(Number.isFinite) ? undefined : { values: known };
        });
        const overflow =
          declared?.dtype === 'float16' &&
          updates.every(({ loss }) => loss === undefined || Number.isFinite(loss));
        return outcome.verdict === 'fail' && overflow ? inform(outcome.measured, outcome.evidence) : outcome;
      },
      says: (m) =>
        `The loss or the gradient is NaN or infinite${m.loss === undefined ? '' : say` (loss ${m.loss})`}.`,
    }),
    logCheck({
      code: 'B45.log',
      title: 'Loss, gradient and KL are finite',
      stage: 'loss',
      level: 6,
      rank: 12,
      threshold:
        'finite in every entry that has them; a KL that was finite once is so again; a float16 gradient that overflows is skipped and does not count',
      sources: ['huggingface/trl#3248', 'unslothai/unsloth-zoo#1286'],
      remedy:
        'Look at that step and the one before: an empty mask, a ratio that overflowed, an advantage that is NaN.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B20', 'B28', 'B30', 'B52', 'B54'],
      proofs: ['native'],
      needs: [],
      test(log): Outcome<{ entries: number; what?: string; broken?: number; step?: number }> {
        const names = [
          'loss',
          'policy_loss',
          ...(log.declared.dtype === 'float16' ? [] : ['grad_norm']),
          'kl',
          ...log.names(OF_CRITIC),
        ];
        const { entries } = log.series;
        if (entries.every(({ values }) => names.every((name) => values[name] === undefined)))
          return notApplicable('loss, policy_loss, grad_norm, or kl');
        const broken = names.flatMap((name): Evidence[] => {
          const known = entries.filter(({ values }) => values[name] !== undefined);
          // Loggers write a KL as NaN that is missing now and then, or is not measured at all.
          const last = known.findLastIndex(({ values }) => Number.isFinite(values[name]));
          if (name === 'kl' && last < 0 && !log.declared.kl?.beta) return [];
          return known
            .slice(name === 'kl' ? last + 1 : 0)
            .flatMap(({ step, values }) =>
              Number.isFinite(values[name]) ? [] : [{ step, text: name, values: { value: values[name]! } }],
            );
        });
        const [first] = broken;
        if (!first) return pass({ entries: entries.length });
        const what = names
          .filter((name) => broken.some(({ text }) => text === name))
          .map((name) => WORDS[name] ?? name);
        return fail(
          {
            what: what.join(' and '),
            entries: entries.length,
            broken: new Set(broken.map(({ step }) => step)).size,
            step: Math.min(...broken.map(({ step }) => step!)),
          },
          broken,
        );
      },
      says: (m) =>
        say`The ${m.what!} ${m.what!.includes(' and ') ? 'are' : 'is'} NaN or infinite in ${m.broken!} of ${m.entries} entries, from step ${m.step!} on.`,
    }),
    logCheck({
      code: 'B45.kl',
      title: 'The KL is a number in every entry',
      stage: 'loss',
      level: 6,
      rank: 30,
      threshold:
        'NaN or infinite in at most half of the entries that have it, and finite after them: only informs, since loggers write NaN for what was not measured',
      why: 'Seen in a public run, in one entry of 37.',
      remedy: 'Look at the completions of that step: an empty mask gives 0/0, a ratio of e^89 overflows.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      settles: 'The record of that step: its masks and log-probs.',
      induces: [],
      needs: [],
      test(log): Outcome<{ entries: number; broken: number; step: number }> {
        const known = log.series.entries.filter(({ values }) => values.kl !== undefined);
        const broken = known.filter(({ values }) => !Number.isFinite(values.kl));
        if (known.length === 0) return notApplicable('kl');
        const [first] = broken;
        const isSeldom = 2 * broken.length <= known.length;
        if (!first || !isSeldom || known.at(-1) === broken.at(-1)) return pass({ entries: known.length });
        return inform(
          { entries: known.length, broken: broken.length, step: first.step },
          broken.map(({ step, values }) => ({ step, text: 'kl', values: { value: values.kl! } })),
        );
      },
      says: (m) =>
        say`The KL is NaN or infinite in ${m.broken} of ${m.entries} entries, first at step ${m.step}, and a number again after it.`,
    }),
    logCheck({
      code: 'B45.zero-log',
      title: 'The gradient is not 0 throughout',
      stage: 'loss',
      level: 6,
      rank: 12,
      threshold:
        'not exactly 0 in every entry of 3 or more, as is the loss where it is logged; a loss of 0 with a gradient is normal at ratio 1',
      sources: ['huggingface/trl#2703', 'huggingface/trl#3452', 'huggingface/open-r1#239'],
      why: 'Three reports that took a loss of 0 for a fault.',
      remedy:
        'Look at the rewards within a group and at the mask. Where rewards differ, look at what hides the gradient: tensors that are detached or frozen, sharded gradients that are read too early.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      settles: 'The record of a step: advantages and masks.',
      needs: ['grad_norm'],
      test(
        log,
      ): Outcome<{ entries: number; loss: number; differ: boolean; isSame: boolean; isCut: boolean }> {
        const [loss, norms] = [withoutNaN(log.column('loss')), withoutNaN(log.column('grad_norm'))];
        const deviation = log.course.metric('reward_std')?.mean;
        const flat = log.course.of('flat')?.mean;
        const differ = (deviation ?? 0) > 0 && (flat ?? 1) < 1;
        const isCut = (log.course.of('cut')?.mean ?? 0) === 1;
        const isSame = !differ && (deviation === 0 || flat === 1);
        const measured = { entries: norms.length, loss: loss.length, differ, isSame, isCut };
        if (norms.length < 3 || log.isRounded('grad_norm'))
          return notApplicable('3 entries that are not rounded');
        return [...loss, ...norms].every((value) => value === 0)
          ? warn(measured, fromTheStart(log, 'grad_norm'))
          : pass(measured);
      },
      says: (m) =>
        say`${m.loss > 0 ? 'Loss and gradient are' : 'The gradient is'} exactly 0 in all ${m.entries} entries: nothing is trained${m.differ ? ', although rewards differ within groups' : m.isSame ? ', since in each group all completions earn the same reward' : ''}.${
          !m.differ
            ? ''
            : m.isCut
              ? ' All completions are truncated: a trainer that masks truncated completions has no token left.'
              : ' The mask is empty, the update is skipped, or the gradients are not those of the weights that are trained.'
        }`,
    }),
  ],
};
