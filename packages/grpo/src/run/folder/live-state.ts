/**
 * What a run carries over a resume beside its tensors, as digests of the live objects: taken when a checkpoint is saved,
 * and again once it is restored. What is written between the two has no part in them.
 */
import { UserError } from '../../errors/user-error.js';
import type { StoredGroup } from '../../step/batch.js';
import type { Run } from '../open-run.js';
import { digestOf } from './digest.js';

/** A digest by the name of the part that it is of. */
export type StateDigests = Readonly<Record<string, string>>;

/** The state that changes before a step's first update, and the control of the objective's weights. */
export function progressDigests({ progress, trainerState: { live } }: Run): StateDigests {
  const { step, tokens, problems } = progress;
  const control = live && {
    'β of each kind of problem': live.control.state.betas,
    'control of the entropy': live.control.state.entropy,
    'number of updates': live.control.state.updates,
    'checksums of the weights': live.checksums,
  };
  const parts = {
    'number of steps': step,
    'number of tokens': tokens,
    'number of problems taken': problems,
    ...control,
  };
  return Object.fromEntries(Object.entries(parts).map(([part, value]) => [part, digestOf(value)]));
}

/** The groups to replay; nothing without a store. A store of another size holds other groups, and is another part. */
export function storeDigests({ config, task, trainerState: { replay } }: Run): StateDigests {
  if (!replay) return {};
  // One after another: a large store as one text is longer than texts may be.
  const groups = replay.groups.map((stored) => digestOf(contentOf(stored, task.train)));
  return { [`stored groups (groups.replay=${config.groups.replay})`]: digestOf(groups) };
}

/** Everything in a stored group that a later step reads. */
function contentOf({ group, old, step, score }: StoredGroup, problems: Run['task']['train']) {
  const { names, weights, columns, grounds, unscored } = group.rewardTable;
  return {
    ...{ step, score, old, names, weights, columns, grounds, unscored },
    problem: problems.indexOf(group.problems[0]!),
    prompt: group.prompts.map(({ text, ids, spans, generationPrompt }) => ({
      text,
      ids,
      spans,
      generationPrompt,
    })),
    completions: group.completions_B.map(
      ({ ids, text, finishReason, logprobs, sampledLogprobs, support, weights, source }) => ({
        ...{ ids, text, finishReason, logprobs, sampledLogprobs, support, weights, source },
      }),
    ),
  };
}

/**
 * Compares the state of a resumed run with the digests of its checkpoint. Older checkpoints have none, and a setting that
 * was changed may add a part or take one away: what both have is compared.
 *
 * @throws UserError that names the parts that differ
 */
export function requireRestored(run: Run): void {
  const { digests: saved = {}, step } = run.progress;
  const live = { ...progressDigests(run), ...storeDigests(run) };
  const different = Object.keys(saved).filter((part) => part in live && live[part] !== saved[part]);
  if (different.length === 0) return;
  throw new UserError(
    `the run does not go on from where its checkpoint of step ${step} was saved; other than there: ${different.join(', ')}`,
    {
      hint: 'Delete that checkpoint to go on from the one before it, where there is one. If nobody changed its files, report this as a fault of grpo.',
    },
  );
}
