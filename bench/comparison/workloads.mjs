/** What is compared with TRL, and what is to be reached: TRL ÷ ours in seconds, ours ÷ TRL in memory. */
export const workloads = [
  {
    name: 'tiny',
    title: 'tiny, 8 × 8, 64 + 64, β 0, fp32',
    flags: { model: 'tiny', prompts: 8, group: 8, 'prompt-len': 64, 'completion-len': 64, beta: 0 },
    goals: { step: 2.5, rollout: 3, memory: 0.45 },
  },
  {
    name: 'tiny-long-prompts',
    title: 'tiny, 4 × 8, 384 + 64, β 0.05, fp32',
    flags: { model: 'tiny', prompts: 4, group: 8, 'prompt-len': 384, 'completion-len': 64, beta: 0.05 },
    goals: { step: 5, rollout: 4.5, memory: 0.35 },
  },
  {
    name: 'tiny-random-lengths',
    title: 'tiny, 8 × 8, 64 + random 4–64, β 0, fp32',
    flags: {
      model: 'tiny',
      prompts: 8,
      group: 8,
      'prompt-len': 64,
      'completion-len': 64,
      beta: 0,
      'random-lengths': true,
    },
    goals: { step: 4, rollout: 4, memory: 0.45 },
  },
  {
    name: 'gpt2',
    title: 'GPT-2 124M, 4 × 4, 64 + 64, β 0.1, fp32',
    flags: { model: 'gpt2-124m', prompts: 4, group: 4, 'prompt-len': 64, 'completion-len': 64, beta: 0.1 },
    goals: { step: 2.2, rollout: 3.5, memory: 0.6 },
  },
  {
    name: 'gpt2-bf16',
    title: 'GPT-2 124M, 4 × 4, 64 + 64, β 0.1, bf16',
    flags: {
      model: 'gpt2-124m',
      prompts: 4,
      group: 4,
      'prompt-len': 64,
      'completion-len': 64,
      beta: 0.1,
      bf16: true,
    },
    goals: { step: 2.2, rollout: 4, memory: 0.6 },
  },
];

/** `--key value`, and `--key` for true. */
export const flagsOf = (flags) =>
  Object.entries(flags).flatMap(([key, value]) => (value === true ? [`--${key}`] : [`--${key}`, `${value}`]));
