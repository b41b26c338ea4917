/** The rewards of a completion, and why it got them. */
import type { StepAnswer } from 'grpo/studio';

export type Completion = StepAnswer['view']['completions'][number];

export interface RewardLine {
  name: string;
  /** NaN where the reward gave none. */
  value: number | undefined;
  /** The rule that decided. */
  rule?: string;
  /** The parts that this completion has a value for. */
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
  const others = Object.keys(completion.rewards ?? {}).filter((name) => !names.includes(name));
  return [...names, ...others].map((name) => {
    const rule = rules.find(({ reward }) => reward === name)?.rules[index] ?? own(completion.rules, name);
    const failure = failures.find(
      (one) => one.reward === name && (one.completion === index || one.completion === null),
    );
    return {
      name,
      value: own(completion.rewards, name),
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

/** A reward may be named `constructor`. */
export const own = <T>(values: Readonly<Record<string, T>> | undefined, name: string): T | undefined =>
  values && Object.hasOwn(values, name) ? values[name] : undefined;

/** Whether a reward of it failed or gave NaN. */
export const hasFailed = (lines: readonly RewardLine[]): boolean =>
  lines.some(({ value, failure }) => failure !== undefined || Number.isNaN(value));
