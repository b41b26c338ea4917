import { setImmediate } from 'node:timers/promises';
import type { DType } from '@grpo/torch';
import { loadSequenceClassifier, type SequenceClassifier } from '../models/index.js';
import type { Watch } from '../progress/watch.js';
import { Reason } from '../rewards/describe-error.js';
import { type CompletionFailure, PartialFailure, type RewardFunction } from '../rewards/index.js';
import { withinMemory } from '../rollout/index.js';
import type { Prompt } from '../text/message.js';

export interface RewardModelOptions {
  /** What the weights are converted to: float32 when left out. */
  dtype?: DType;
  /** `cpu` when left out. */
  device?: string;
  /** Most tokens that are scored in one pass: 8192 when left out. */
  microBatchTokens?: number;
  /** Hears how far the loading is. */
  watch?: Watch | undefined;
}

/** A reward function that holds a model, which disposing frees. */
export type RewardModel = RewardFunction<unknown> & Disposable;

/**
 * A reward model: the score that a sequence classifier with one label gives to prompt and completion, in the words of
 * its own tokenizer.
 *
 * With a chat template both are rendered as a conversation that ends with the completion as the assistant's message; a
 * plain-text prompt is then the user's. Without one the completion follows the prompt's text directly, and a
 * conversation cannot be scored. No token is added to either.
 *
 * @param model - a folder of `…ForSequenceClassification`, or `ORG/NAME` of the local Hugging Face cache
 * @throws what `loadSequenceClassifier` throws
 *
 * @example
 * import { defineTask, rewardModel } from 'grpo';
 *
 * using judge = rewardModel('models/judge');
 * const task = defineTask({
 *   name: 'judged',
 *   rows: ['a', 'b'],
 *   prompt: (row) => row,
 *   rewards: { judge: { batch: judge } },
 * });
 */
export function rewardModel(model: string, options: RewardModelOptions = {}): RewardModel {
  const { microBatchTokens = 8192, ...load } = options;
  const classifier = loadSequenceClassifier(model, load);
  const { maxPositions } = classifier.decoder.config;
  const score: RewardFunction<unknown> = async ({ prompts, completions }) => {
    const sequences = completions.map((completion, i) =>
      classifier.tokenizer.encode(textOf(classifier, model, prompts[i]!, completion)),
    );
    const failures = sequences.flatMap(({ length }, index): CompletionFailure[] => {
      if (length > 0 && length <= maxPositions) return [];
      const reason = length === 0 ? 'has no tokens' : `has ${length} tokens with its prompt`;
      return [{ index, reason: `${reason}; the reward model ${model} takes 1 to ${maxPositions}` }];
    });
    const lost = new Set(failures.map(({ index }) => index));
    const kept = [...sequences.keys()].filter((index) => !lost.has(index));
    const values = new Array<number | null>(sequences.length).fill(null);
    const scores = await inLots(
      classifier,
      kept.map((index) => sequences[index]!),
      microBatchTokens,
    );
    for (const [i, index] of kept.entries()) values[index] = scores[i]!;
    if (failures.length > 0) throw new PartialFailure(values, failures);
    return values;
  };
  return Object.assign(score, { [Symbol.dispose]: () => classifier[Symbol.dispose]() });
}

/** The text that is scored. */
function textOf(
  { template, tokenizer }: SequenceClassifier,
  model: string,
  prompt: Prompt,
  completion: string,
): string {
  if (template) {
    const asked = typeof prompt === 'string' ? [{ role: 'user' as const, content: prompt }] : prompt;
    return template.render([...asked, { role: 'assistant', content: completion }], {
      addGenerationPrompt: false,
      namedTokens: tokenizer.namedTokens,
    });
  }
  if (typeof prompt === 'string') return prompt + completion;
  throw new Reason(`the reward model ${model} has no chat template, and the prompt is a conversation`);
}

/** Scores in passes of at most so many tokens, or fewer where memory is short; a longer sequence is a pass of its own. */
async function inLots(
  classifier: SequenceClassifier,
  sequences: readonly (readonly number[])[],
  tokens: number,
): Promise<number[]> {
  const scores: number[] = [];
  const bound = {
    unit: 'tokens',
    setting: 'train.microBatchTokens',
    configured: tokens,
    model: classifier.decoder,
  };
  const take = (from: number, most: number) => {
    let size = sequences[from]!.length;
    let to = from + 1;
    while (to < sequences.length && size + sequences[to]!.length <= most) size += sequences[to++]!.length;
    return { count: to - from, size, part: sequences.slice(from, to) };
  };
  await withinMemory(bound, sequences.length, take, async ({ part }) => {
    scores.push(...classifier.scores(part));
    // Lets signals and timers through.
    await setImmediate();
  });
  return scores;
}
