/** What a completion got of each reward, and why. */
import type { StepAnswer } from 'grpo/studio';

export type Completion = StepAnswer['view']['completions'][number];

export interface RewardLine {
  name: string;
  /** NaN where the reward gave none. */
  value: number | undefined;
  /** The rule that decided. */
  rule?: string;
  /** Those that this completion has. */
  parts: readonly { part: string; value: number }[];
  /** Why there is no value. */
  failure?: string;
}

export function rewardsOf(
  { view, parts, rules, failures }: Pick<StepAnswer, 'view' | 'parts' | 'rules' | 'failures'>,
  completion: Completion,
): RewardLine[] {
  const { index } = completion;
  const names = view.rewards.map(({ name }) => name);
  const own = Object.keys(completion.rewards ?? {}).filter((name) => !names.includes(name));
  return [...names, ...own].map((name) => {
    const rule = rules.find(({ reward }) => reward === name)?.rules[index] ?? completion.rules?.[name];
    const failure = failures.find(
      (one) => one.reward === name && (one.completion === index || one.completion === null),
    );
    return {
      name,
      value: completion.rewards?.[name],
      ...(rule !== undefined && { rule }),
      parts: parts.flatMap(({ reward, part, values }) =>
        reward === name && !Number.isNaN(values[index] ?? Number.NaN)
          ? [{ part, value: values[index]! }]
          : [],
      ),
      ...(failure && { failure: failure.reason }),
    };
  });
}

/** Whether a reward of it failed or gave NaN. */
export const hasFailed = (lines: readonly RewardLine[]): boolean =>
  lines.some(({ value, failure }) => failure !== undefined || Number.isNaN(value));
