import { logCheck, runCheck, stepCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { membersOf, replayedOf, scoredRows, updateRows } from '../inputs.js';
import { at, type LogView } from '../log-view.js';
import { fail, inform, notApplicable, type Outcome, pass, warn } from '../outcome.js';
import { percent, say } from '../sentence.js';

export const b53: Fault = {
  code: 'B53',
  name: 'missing gradients',
  title: 'Gradients are missing',
  checks: [
    stepCheck({
      code: 'B53.left-out',
      title: 'Every tensor that is to be trained is in the optimizer',
      stage: 'optimizer',
      level: 7,
      rank: 2,
      threshold: 'no tensor that asks for a gradient is in no group of the optimizer',
      sources: ['huggingface/trl@f2cd57710ae3:trl/trainer/grpo_trainer.py'],
      why: 'Seen in an override of create_optimizer that listed the layers, and not the embeddings, the head and the norms.',
      remedy: 'Add them to a group, or freeze them (requires_grad_(False)) so that it shows.',
      consequence: { rerun: 'GRPO', checkpointsVoid: false },
      settles: 'The names of both sets, printed.',
      proofs: ['TRL run'],
      needs: ['probes'],
      test({ probes: { leftOut } }) {
        if (!leftOut) return notApplicable('probes.leftOut');
        const measured = { tensors: leftOut.length, names: leftOut.slice(0, 3).join(', ') };
        return leftOut.length > 0 ? warn(measured) : pass(measured);
      },
      says: (m) =>
        say`${m.tensors} tensors are to be trained and in no group of the optimizer, such as ${m.names}: they keep their values.`,
    }),
    runCheck({
      code: 'B53.frozen',
      title: 'As many tensors are trained as at the start',
      stage: 'optimizer',
      level: 7,
      rank: 2,
      threshold: 'no record has fewer tensors that ask for a gradient than the first one',
      why: 'Seen in a callback that froze all layers in the course of a run: loss and gradient go on, of what is left.',
      remedy:
        'Look at what sets requires_grad: callbacks, adapters that are added or switched, an unfreezing that was turned round.',
      consequence: { rerun: 'GRPO', checkpointsVoid: false },
      settles: 'The names of the tensors that ask for a gradient, at both steps.',
      proofs: ['TRL run'],
      needs: ['probes'],
      see: ({ probes: { trainable } }, { step }) => (trainable === undefined ? [] : [{ step, trainable }]),
      test(seen): Outcome<{ first: number; now: number; step: number }> {
        const all = seen.flatMap(({ value }) => value);
        if (all.length < 2) return notApplicable('probes.trainable of two records');
        const first = all[0]!.trainable;
        const fewer = all.find(({ trainable }) => trainable < first);
        const measured = { first, now: fewer?.trainable ?? first, step: fewer?.step ?? 0 };
        return fewer ? warn(measured, [{ step: fewer.step }]) : pass(measured);
      },
      says: (m) =>
        say`${m.now} tensors are trained at step ${m.step}, and ${m.first} at the start: the others have been frozen.`,
    }),
    stepCheck({
      code: 'B53.added',
      title: 'Each token of a prompt has an embedding that was trained',
      stage: 'tokens',
      level: 2,
      rank: 3,
      threshold:
        'no token of a prompt has a row of the embedding that was added after the model was loaded, or that is the mean of all rows to 1 %',
      why: 'Seen in a token that was added to the tokenizer for all prompts, with adapters that do not train the embedding: to the model it is noise.',
      remedy:
        'Train the new rows before GRPO, by SFT with the embedding among what is trained (in PEFT: `modules_to_save` or `trainable_token_indices`); or write the prompt in tokens that the model knows.',
      consequence: { rerun: 'SFT and GRPO', checkpointsVoid: true },
      settles: 'The vocab_size of the config that the model was loaded from, beside the id of the token.',
      proofs: ['TRL run'],
      needs: ['probes'],
      test({ probes: { added } }) {
        if (!added) return notApplicable('probes.added');
        const measured = {
          tokens: added.length,
          token: added[0]?.token ?? '',
          id: added[0]?.id ?? 0,
          frozen: !added[0]?.trained,
        };
        return added.length > 0
          ? warn(
              measured,
              added.map(({ token }) => ({ text: token })),
            )
          : pass(measured);
      },
      says: (m) =>
        say`Prompts have ${m.tokens === 1 ? 'a token' : `${m.tokens} tokens`} whose embedding no checkpoint has, such as ${JSON.stringify(m.token)} (id ${m.id})${m.frozen ? ', and nothing trains it' : ': only this run trains it'}.`,
    }),
    stepCheck({
      code: 'B53.merged',
      title: 'Adapters are not merged while they are trained',
      stage: 'optimizer',
      level: 6,
      rank: 1,
      threshold: 'no adapter is added to the weights at the end of a step',
      why: 'Seen in a callback that merged the adapters to save the model, and did not take them out again.',
      remedy: 'Call unmerge_adapter() after merge_adapter(), or merge a copy of the model.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['H06', 'H07', 'B52', 'B43', 'B45'],
      proofs: ['TRL run'],
      needs: ['probes'],
      test({ probes: { merged } }) {
        if (merged === undefined) return notApplicable('probes.merged');
        return merged ? fail({ merged }) : pass({ merged });
      },
      says: () =>
        'The adapters are merged into the weights: the model computes with their sum, the adapters get no gradient, and nothing is trained from there on.',
    }),
    stepCheck({
      code: 'B53.gradient',
      title: 'Advantages that differ from 0 give a gradient',
      stage: 'optimizer',
      level: 7,
      rank: 1,
      threshold:
        'gradient norm above 0 at the first update where some token with mask 1 has an advantage other than 0, and a policy term where these are known; groups replayed from earlier steps may be clipped and are left out',
      sources: ['huggingface/trl#3089', 'huggingface/trl#2671'],
      why: 'A loss of 0 alone is normal at ratio 1 (trl#2703, trl#3452).',
      remedy:
        'Check that log-probs carry gradients: checkpointing with frozen inputs, detached outputs, frozen parameters.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B52'],
      proofs: ['native'],
      needs: ['firstUpdate', 'advantages'],
      test({ firstUpdate, advantages }, record) {
        const { gradNorm, loss } = firstUpdate;
        if (gradNorm === undefined) return notApplicable('updates.gradNorm');
        const masks = scoredRows(record, firstUpdate, 'mask');
        const terms = updateRows(record, firstUpdate, 'policyTerms');
        const replayed = replayedOf(record);
        const taught = membersOf(record, firstUpdate).some(
          // Equal rewards may leave rounding alone.
          (b, row) =>
            Math.abs(advantages[b]!) > 0.01 &&
            !replayed(b) &&
            (masks?.[row]?.some((value, t) => value !== 0 && terms?.[row]?.[t] !== 0) ?? true),
        );
        if (!taught) return notApplicable('a token with mask 1 and an advantage other than 0');
        const measured = { gradNorm, ...(loss !== undefined && { loss }), masked: masks !== undefined };
        return gradNorm === 0 ? fail(measured) : pass(measured);
      },
      says: (m) =>
        `Advantages differ from 0, yet the gradient is exactly 0.${m.masked ? ' The mask covers tokens with such an advantage: gradients do not reach the parameters.' : ' Either no token has mask 1 (B45), or gradients do not reach the parameters (B53); the loss mask would show which.'}`,
    }),
    stepCheck({
      code: 'B53.zero',
      title: 'Gradients reach the trainable tensors',
      stage: 'optimizer',
      level: 7,
      rank: 2,
      threshold:
        'at most 5 % of the trainable tensors without a gradient, if any tensor has one; on step 1 half of those of declared adapters are expected, and up to half of others only inform',
      sources: ['huggingface/trl#3089', 'huggingface/trl#2671'],
      why: 'Gradient checkpointing with frozen inputs stops the gradient.',
      remedy: 'Look at the tensors without a gradient: they are frozen, detached, or not used by the loss.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      settles: 'The names of the tensors without a gradient.',
      proofs: ['native'],
      needs: ['firstUpdate'],
      test({ firstUpdate: { zeroGradients, gradNorm } }, record) {
        if (zeroGradients === undefined || !(gradNorm! > 0))
          return notApplicable('updates.zeroGradients of an update with a gradient');
        // The gradient of a fresh adapter's A is exactly 0: its B begins at 0.
        const fresh = record.step <= 1 && zeroGradients <= 0.5;
        const { rank = 0, adapter } = record.declared?.lora ?? {};
        const isExpected = fresh && rank > 0 && adapter === undefined;
        if (zeroGradients <= 0.05 || isExpected) return pass({ zeroGradients });
        return fresh ? inform({ zeroGradients }) : warn({ zeroGradients });
      },
      says: (m) => `${percent(m.zeroGradients)} of the trainable tensors have no gradient.`,
    }),
    logCheck({
      code: 'B53.log',
      title: 'Rewards that differ give a gradient',
      stage: 'optimizer',
      level: 7,
      rank: 2,
      threshold:
        'grad_norm above 1e-6 in every entry with different rewards in some group, or in all groups where the log does not have every step. Fails if no such entry has a gradient, warns if some have one: masked completions or rounding may explain the others',
      sources: ['huggingface/trl#3089', 'huggingface/trl#2671', 'modelscope/ms-swift#5571'],
      why: 'An entry that averages steps shows the gradient of the last one, which has a signal for certain only where all groups have one.',
      remedy:
        'Check that log-probs carry gradients (checkpointing with frozen inputs, detached outputs), and the mask.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B52', 'B58'],
      proofs: ['native'],
      needs: ['grad_norm'],
      test(log) {
        if (log.declared.advantage?.flatBelow)
          return notApplicable('groups that count as soon as they differ');
        const differ = groupsDiffer(log);
        if (!differ)
          return notApplicable(
            'frac_reward_zero_std, or in a log of every step reward_std as a mean over groups',
          );
        if (log.isRounded('grad_norm')) return notApplicable('a gradient norm that is not rounded');
        const norms = log.column('grad_norm');
        const dead = [...norms.keys()].filter((i) => differ(i) && norms[i]! < 1e-6);
        const asked = [...norms.keys()].filter((i) => differ(i) && !Number.isNaN(norms[i]!)).length;
        if (asked === 0) return notApplicable('an entry with different rewards in a group');
        const measured = { entries: asked, dead: dead.length };
        if (dead.length === 0) return pass(measured);
        const evidence = dead.map((i) => at(log, i, 'grad_norm', norms[i]!));
        // A trainer may mask what was truncated.
        const cut = log.column('completions/clipped_ratio');
        const isMasked =
          leavesOut(log.declared) ||
          (log.declared.objective?.maskTruncated ?? dead.every((i) => cut[i] === 1));
        const sure = dead.length === asked && !isMasked;
        return sure ? fail(measured, evidence) : warn(measured, evidence);
      },
      says: (m) =>
        say`In ${m.dead} of ${m.entries} entries rewards differ within groups, yet the gradient is 0.`,
    }),
  ],
};

/** Whether whole completions are left out that the trainer's and the sampler's log-probs set far apart. */
const leavesOut = ({ objective, correction }: LogView['declared']): boolean =>
  objective?.offPolicyThreshold !== undefined ||
  ((correction?.level ?? 'off') !== 'off' && correction?.action !== 'truncate');

/** Whether some group of the last step of an entry has different rewards; undefined where the log cannot tell. */
function groupsDiffer(log: LogView): ((index: number) => boolean) | undefined {
  const isEveryStep = log.series.stepsPerEntry === 1;
  if (log.has('frac_reward_zero_std')) {
    const shares = log.column('frac_reward_zero_std');
    return isEveryStep ? (i) => shares[i]! < 1 : (i) => shares[i] === 0;
  }
  if (isEveryStep && log.has('reward_std') && log.series.rewardDeviation === 'groups') {
    const deviations = log.column('reward_std');
    return (i) => deviations[i]! > 0;
  }
  return undefined;
}
