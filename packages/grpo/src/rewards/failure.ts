import { excerpt } from '../errors/printable.js';
import { UserError } from '../errors/user-error.js';
import type { Prompt } from '../text/message.js';
import type { RewardBatch } from './reward.js';

/** A reward function that gave no usable value: for one completion, or for its whole batch. */
export interface RewardFailure {
  /** Name of the reward. */
  reward: string;
  /** Place of the completion in the batch; null when no single completion is to blame. */
  index: number | null;
  /** Completions that have no value from this reward because of it: 1, or the whole batch. */
  affected: number;
  /** Begin of the prompt, quoted; with index null that of the batch's first completion, as is `completion`. */
  prompt: string;
  completion: string;
  /** The failure in words: `threw TypeError: …`, `returned NaN`, `took longer than 5 s`. */
  reason: string;
}

/** Consequence for a completion without a reward, as a sentence. */
const DROPPED =
  "Such a completion then gets advantage 0 and stays out of its group's mean; its tokens still count in the weights of the loss, and in the KL where there is one.";

/** The failures of a batch where the run is to stop at the first one. */
export class RewardError extends UserError {
  constructor(readonly failures: RewardFailure[]) {
    super(describeFailures(failures), {
      hint: `Fix the reward function, or set onRewardError=drop. ${DROPPED}`,
    });
  }
}

/** How many failures a message shows; the rest are counted. */
const SHOWN = 3;

/** All failures in words, the first three in full. */
export function describeFailures(failures: readonly RewardFailure[]): string {
  const shown = failures.slice(0, SHOWN).map(describeFailure);
  const rest = failures.length - shown.length;
  return [...shown, ...(rest > 0 ? [`and ${rest} more`] : [])].join('\n');
}

function describeFailure({ reward, index, affected, prompt, completion, reason }: RewardFailure): string {
  const where = index === null ? `batch of ${affected}` : `completion ${index}`;
  const lost = index !== null && affected > 1 ? `, so its batch of ${affected} has no value` : '';
  return `reward ${reward}, ${where}: ${reason}${lost}\n  prompt${index === null ? ' of the first' : ''}: ${prompt}\n  completion: ${completion}`;
}

/** The failure of one completion, or of the whole batch when `index` is null. */
export function failureOf(
  reward: string,
  batch: RewardBatch<unknown>,
  index: number | null,
  affected: number,
  reason: string,
): RewardFailure {
  const at = index ?? 0;
  return {
    reward,
    index,
    affected,
    prompt: excerpt(promptText(batch.prompts[at] ?? '')),
    completion: excerpt(batch.completions[at] ?? ''),
    reason,
  };
}

/** The prompt's text, or its last message. */
function promptText(prompt: Prompt): string {
  return typeof prompt === 'string' ? prompt : (prompt.at(-1)?.content ?? '');
}
