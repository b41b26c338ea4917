/** Training that is not GRPO, by the names of its metrics. */

interface OtherTraining {
  names: RegExp;
  /** What it is, and what is missing for GRPO. */
  says: string;
}

const OTHERS: readonly OtherTraining[] = [
  {
    names: /(^|\/)(rewards\/(chosen|rejected|margins)|logps\/(chosen|rejected))$/,
    says: 'This is preference training on pairs (DPO or a relative): its rewards are of chosen and rejected answers.',
  },
  {
    names:
      /(^|[/_])(value|vf|value_function|critic|cri)[_ ]?(loss|clipfrac|explained_var\w*)(_avg)?$|(^|\/)loss\/value|explained_variance/i,
    says: 'This is PPO with a value function: GRPO has none, and compares the completions of a prompt instead.',
  },
];

/** What is said of a log with a loss and nothing else. */
export const SUPERVISED =
  'No GRPO signals here: a loss, but no reward, completions or KL. It looks like supervised training; give the log of the GRPO run.';

/** What a log with these names is, where it is known to be of other training than GRPO. */
export function otherTraining(names: ReadonlySet<string>): string | undefined {
  const all = [...names];
  const found = OTHERS.find((other) => all.some((name) => other.names.test(name)));
  return found && `${found.says} No check of GRPO is made; give the log of the GRPO run.`;
}

/** What names of GRPO's metrics have in them. */
const LIKE_GRPO = /reward|score|advantage|polic|clip_?frac|rollout|(?:^|[^a-z])kl(?:[^a-z]|$)/i;

/** What is said of a log without any sign of GRPO, or without one whose name is known. */
export function withoutSignals(names: ReadonlySet<string>): string {
  const like = [...names].filter((name) => LIKE_GRPO.test(name));
  const unknown = `No metric of this log is known as one of GRPO by its name, though ${like.slice(0, 4).join(', ')} may be: rename what they are to reward, reward_std, loss, kl, grad_norm or entropy.`;
  return otherTraining(names) ?? (like.length > 0 ? unknown : SUPERVISED);
}
