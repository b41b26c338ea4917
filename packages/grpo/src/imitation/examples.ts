import { UserError } from '../errors/user-error.js';
import type { Model } from '../models/model.js';
import { Watch } from '../progress/watch.js';
import type { Task } from '../tasks/task.js';
import { renderExample } from '../text/render.js';

/** A prompt and the completion that is to be imitated, end token included. */
export interface Example {
  prompt: number[];
  completion: number[];
}

/**
 * The demonstrations of a task, rendered as training and evaluation render its prompts.
 *
 * @throws UserError for a task without one; Abandoned
 */
export function examplesOf(
  model: Pick<Model, 'tokenizer' | 'template' | 'endIds'>,
  task: Pick<Task, 'name' | 'train'>,
  watch = new Watch(),
): Example[] {
  const [endId] = model.endIds;
  const total = task.train.length;
  const examples = task.train.flatMap(({ prompt, demonstration }, done): Example[] => {
    watch.report({ stage: 'reading demonstrations', done, total, unit: 'rows' });
    if (demonstration === undefined) return [];
    const { ids, spans } = renderExample(model.tokenizer, model.template, prompt, demonstration, {
      endId: endId!,
    });
    const { start } = spans.find((span) => span.kind === 'completion')!;
    return [{ prompt: ids.slice(0, start), completion: ids.slice(start) }];
  });
  requireDemonstrations(task);
  return examples;
}

/** @throws UserError when no row has an answer to imitate */
export function requireDemonstrations({ name, train }: Pick<Task, 'name' | 'train'>): void {
  if (train.some(({ demonstration }) => demonstration !== undefined)) return;
  throw new UserError(`the task '${name}' has no demonstrations to imitate`, {
    hint: 'SFT needs an answer to imitate in each row (task.answerKey): with task.grading=numeric a worked solution that ends in #### and the number, with task.grading=none any text. GRPO needs none.',
  });
}
