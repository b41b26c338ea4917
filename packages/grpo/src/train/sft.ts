import { setImmediate } from 'node:timers/promises';
import { type AdamW, tidy } from '@grpo/torch';
import { UserError } from '../config/errors.js';
import type { Model } from '../models/index.js';
import { scoreTokens } from '../objective/index.js';
import type { Task } from '../tasks/task.js';
import { renderExample } from '../text/render.js';

/** A prompt and the completion that is to be imitated, end token included. */
export interface Example {
  prompt: number[];
  completion: number[];
}

/** The demonstrations of a task, rendered as training and evaluation render its prompts. */
export function examplesOf(model: Model, task: Task): Example[] {
  const [endId] = model.endIds;
  const examples = task.train.flatMap(({ prompt, demonstration }): Example[] => {
    if (demonstration === undefined) return [];
    const { ids, spans } = renderExample(model.tokenizer, model.template, prompt, demonstration, {
      endId: endId!,
    });
    const { start } = spans.find((span) => span.kind === 'completion')!;
    return [{ prompt: ids.slice(0, start), completion: ids.slice(start) }];
  });
  if (examples.length === 0) {
    throw new UserError(`the task '${task.name}' has no demonstrations to imitate`, {
      hint: 'SFT needs answers with their reasoning; GRPO needs none',
    });
  }
  const { maxPositions } = model.decoder.config;
  const tooLong = examples.findIndex(
    ({ prompt, completion }) => prompt.length + completion.length > maxPositions,
  );
  if (tooLong >= 0) {
    throw new UserError(
      `demonstration ${tooLong + 1} has more tokens with its prompt than the model's ${maxPositions} positions`,
      { hint: 'shorten or leave it out' },
    );
  }
  return examples;
}

/** One SFT step: mean negative log-likelihood of the completions' tokens, then an update. */
export async function sftStep(
  model: Model,
  optimizer: AdamW,
  examples: readonly Example[],
  options: { learningRate: number; maxGradNorm: number; microBatchTokens: number },
): Promise<{ loss: number; gradNorm: number; tokens: number }> {
  const tokens = examples.reduce((sum, { completion }) => sum + completion.length, 0);
  let loss = 0;
  for (const micro of split(examples, options.microBatchTokens)) {
    tidy(() => {
      const groups = micro.map(({ prompt, completion }) => ({ prompt, completions: [completion] }));
      const share = scoreTokens(model.decoder, groups, 1).logprobs_T.sum().div(-tokens);
      loss += share.item();
      share.backward();
      optimizer.accumulate();
    });
    await setImmediate();
  }
  const { gradNorm } = optimizer.step(options.learningRate, options.maxGradNorm);
  if (!Number.isFinite(gradNorm)) {
    throw new UserError(`the gradient is ${gradNorm}; the weights are as before the step`, {
      hint: 'A smaller sft.learningRate usually helps',
    });
  }
  return { loss, gradNorm, tokens };
}

/** Runs of at most `budget` tokens, an example at least. */
function split(examples: readonly Example[], budget: number): Example[][] {
  const batches: Example[][] = [];
  let room = 0;
  for (const example of examples) {
    const cost = example.prompt.length + example.completion.length;
    if (batches.length > 0 && cost <= room) batches.at(-1)!.push(example);
    else {
      batches.push([example]);
      room = budget;
    }
    room -= cost;
  }
  return batches;
}
