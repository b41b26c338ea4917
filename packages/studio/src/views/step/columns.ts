/** The numbers and words of a completion that the table has a column for, and that lists are sorted by. */
import type { StepAnswer } from 'grpo/studio';
import { type Completion, own, rewardsOf } from '../../parts/rewards-of.js';

export interface Column {
  /** As the address has it. */
  key: string;
  title: string;
  kind: 'name' | 'number' | 'signed' | 'finish' | 'text';
  value(completion: Completion): number | string | undefined;
}

const NUMBERS: readonly [keyof Completion, string][] = [
  ['trained', 'trained'],
  ['logprob', 'log π'],
  ['samplerLogprob', 'log π sampler'],
  ['referenceLogprob', 'log π ref'],
  ['entropy', 'entropy'],
  ['ratio', 'ratio'],
  ['clipped', 'clipped'],
  ['policyLoss', 'policy loss'],
  ['klLoss', 'KL loss'],
];

/** Returns the columns that at least one completion has a value for. */
export function columnsOf(answer: StepAnswer, completions: readonly Completion[]): Column[] {
  const { rewards } = answer.view;
  const isSum = rewards.length !== 1 || (rewards[0]!.weight ?? 1) !== 1;
  const columns: Column[] = [
    { key: 'name', title: 'completion', kind: 'name', value: ({ index }) => index },
    { key: 'reward', title: 'reward', kind: 'number', value: ({ total }) => total },
    ...(isSum ? rewards : []).map(
      ({ name }): Column => ({
        key: `reward.${name}`,
        title: name,
        kind: 'number',
        value: (one) => own(one.rewards, name),
      }),
    ),
    ...answer.parts.map(
      ({ reward, part, values }): Column => ({
        key: `part.${reward}.${part}`,
        title: `${reward}: ${part}`,
        kind: 'number',
        value: ({ index }) => values[index],
      }),
    ),
    { key: 'advantage', title: 'advantage', kind: 'signed', value: ({ advantage }) => advantage },
    { key: 'finish', title: 'end', kind: 'finish', value: ({ finish }) => finish },
    { key: 'tokens', title: 'tokens', kind: 'number', value: ({ tokens }) => tokens },
    { key: 'text', title: 'text', kind: 'text', value: ({ text }) => text },
    ...NUMBERS.map(
      ([key, title]): Column => ({
        key,
        title,
        kind: 'number',
        value: (one) => one[key] as number | undefined,
      }),
    ),
    { key: 'kl', title: 'KL (k3)', kind: 'number', value: ({ kl }) => kl?.k3 },
    ...rewards.map(
      ({ name }): Column => ({
        key: `rule.${name}`,
        title: `rule of ${name}`,
        kind: 'text',
        value: (one) => rewardsOf(answer, one).find((line) => line.name === name)?.rule,
      }),
    ),
  ];
  return columns.filter(({ value }) => completions.some((one) => value(one) !== undefined));
}
