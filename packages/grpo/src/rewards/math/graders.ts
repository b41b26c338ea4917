/** The two graders of CS336's assignment 5: what a response in their format earns. */
import type { Verdict } from '../reward.js';
import { type AssignmentRule, matchesAny } from './assignment-equal.js';
import { lastBoxed } from './boxed.js';

/** The right answer: text, which may be `\boxed{…}`, a number, or several of which any will do. */
export type Gold = string | number | readonly (string | number)[];

export interface GraderOptions {
  /**
   * Only texts and plain mathematics are compared, with the refusals of the assignment (the default). Otherwise answers that
   * differ so are also compared by `mathEqual`.
   */
  fast?: boolean;
}

/** A verdict with its two parts, each 0 or 1. `value` is 1 for a right answer in the format, otherwise 0. */
export interface GraderVerdict extends Verdict {
  value: 0 | 1;
  parts: { format_reward: 0 | 1; answer_reward: 0 | 1 };
  rule: AssignmentRule | 'no </think> <answer>' | 'no </answer>' | 'no \\boxed{…}';
}

const unformatted = (rule: GraderVerdict['rule']): GraderVerdict => ({
  value: 0,
  parts: { format_reward: 0, answer_reward: 0 },
  rule,
});

/**
 * Grades a response to a prompt that ends in `<think>`. The format holds when the literal `</think> <answer>`, with one
 * space, and `</answer>` occur; the answer is what follows the last `<answer>`. Where it has a `\boxed`, the last one
 * counts. Right 1, wrong or unformatted 0: the format alone earns nothing.
 *
 * The response must keep its stop string `</answer>`.
 *
 * @example
 * import { r1ZeroReward } from 'grpo/rewards';
 *
 * const { value, rule } = r1ZeroReward('half of it</think> <answer>0.5</answer>', '\\frac{1}{2}');
 * console.log(value, rule); // 1 same text
 */
export function r1ZeroReward(response: string, gold: Gold, options: GraderOptions = {}): GraderVerdict {
  if (!response.includes('</think> <answer>')) return unformatted('no </think> <answer>');
  if (!response.includes('</answer>')) return unformatted('no </answer>');
  const after = response.slice(response.lastIndexOf('<answer>') + '<answer>'.length);
  const answer = after.replaceAll('</answer>', '');
  const boxed = answer.includes('\\boxed') ? lastBoxed(answer) : answer;
  if (boxed === null)
    return { ...unformatted('no \\boxed{…}'), parts: { format_reward: 1, answer_reward: 0 } };
  return graded(boxed, gold, options);
}

/**
 * Grades a response to a bare question: its answer is what the last `\boxed{…}` holds. Right 1, wrong 0, and 0 with
 * format 0 without a box.
 *
 * @example
 * import { questionOnlyReward } from 'grpo/rewards';
 *
 * const { parts } = questionOnlyReward('So it is \\boxed{12}.', '13');
 * console.log(parts); // { format_reward: 1, answer_reward: 0 }
 */
export function questionOnlyReward(response: string, gold: Gold, options: GraderOptions = {}): GraderVerdict {
  const boxed = lastBoxed(response);
  return boxed === null ? unformatted('no \\boxed{…}') : graded(boxed, gold, options);
}

function graded(answer: string, gold: Gold, { fast = true }: GraderOptions): GraderVerdict {
  const golds = (typeof gold === 'object' ? gold : [gold]).map(String);
  const { equal, rule } = matchesAny(answer, golds, fast);
  const right = equal ? 1 : 0;
  return { value: right, parts: { format_reward: 1, answer_reward: right }, rule };
}
