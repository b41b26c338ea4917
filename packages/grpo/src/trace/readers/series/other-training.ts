/** Training that is not GRPO, by the names of its metrics. */

interface OtherTraining {
  names: RegExp;
  /** What it is, and what is missing for GRPO. */
  says: string;
}

const PPO: OtherTraining = {
  names:
    /(^|[/_])(value|vf|value_function|critic|cri)[_ ]?(loss|clipfrac|explained_var\w*)(_avg)?$|(^|\/)loss\/value|explained_variance/i,
  says: 'This is PPO with a value function: GRPO has none, and compares the completions of a prompt instead.',
};

const OTHERS: readonly OtherTraining[] = [
  {
    names: /(^|\/)(rewards\/(chosen|rejected|margins)|logps\/(chosen|rejected))$/,
    says: 'This is preference training on pairs (DPO or a relative): its rewards are of chosen and rejected answers.',
  },
  PPO,
];

/** Note for PPO of a language model, of which some of the metrics mean what they mean in GRPO. */
export const OF_PPO =
  'This is PPO with a value function, so only rewards, lengths, entropy, the gradient norm and the KL to the old policy are judged: a critic stands where GRPO compares the completions of a prompt, and other KLs and the losses have other scales.';

/** Whether names are of PPO with a value function. */
export const isPpo = (names: ReadonlySet<string>): boolean => [...names].some((name) => PPO.names.test(name));

/** Note for a log that has a loss and no metric of GRPO. */
export const SUPERVISED =
  'No GRPO signals here: a loss, but no reward, completions or KL. It looks like supervised training; give the log of the GRPO run.';

/** What a log with these names is, where it is known to be of other training than GRPO. */
export function otherTraining(names: ReadonlySet<string>): string | undefined {
  const all = [...names];
  const found = OTHERS.find((other) => all.some((name) => other.names.test(name)));
  return found && `${found.says} No check of GRPO is made; give the log of the GRPO run.`;
}

/** Matches a name that looks like a metric of GRPO. */
const LIKE_GRPO = /reward|score|advantage|polic|clip_?frac|rollout|(?:^|[^a-z])kl(?:[^a-z]|$)/i;

/** Returns the note for a run in which no metric of GRPO is known by its name; others in its file may have some. */
export function withoutSignals(names: ReadonlySet<string>, ofFile = names): string {
  const like = [...names].filter((name) => LIKE_GRPO.test(name));
  // Advantages and log-probs are of GRPO, and no reward.
  const rewards = like.filter((name) => /rew|score|ret|acc/i.test(name) && !/adv|logp|log_prob/i.test(name));
  const unknown = `No metric of this log has a name that is known for GRPO, though ${like.slice(0, 4).join(', ')} may be such metrics: say which is the reward with --metric reward=${rewards[0] ?? 'COLUMN'}, and name loss, kl, grad_norm, entropy or reward_std so too.`;
  return otherTraining(ofFile) ?? (like.length > 0 ? unknown : SUPERVISED);
}
