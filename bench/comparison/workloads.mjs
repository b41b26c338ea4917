import { drawnFlags } from '../../packages/grpo/dist/lab/bench/drawn-flags.js';

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
  {
    name: 'qwen-0.5b',
    title: 'Qwen2.5-0.5B shapes, 2 × 8, 128 + 64, β 0, bf16',
    flags: {
      model: 'qwen2.5-0.5b',
      prompts: 2,
      group: 8,
      'prompt-len': 128,
      'completion-len': 64,
      beta: 0,
      bf16: true,
    },
    goals: {},
  },
];

/** One of the list, or `seed-N`: work that a seed draws, without a goal. */
export function workloadOf(name) {
  const listed = workloads.find((workload) => workload.name === name);
  if (listed) return listed;
  const seed = /^seed-(\d+)$/.exec(name)?.[1];
  if (seed === undefined)
    throw new Error(`unknown workload ${name}: known are ${workloads.map((w) => w.name).join(', ')}, seed-N`);
  const flags = drawnFlags(Number(seed));
  const length = `${flags['random-lengths'] ? 'random 4–' : ''}${flags['completion-len']}`;
  const title = `seed ${seed}: ${flags.model}, ${flags.prompts} × ${flags.group}, ${flags['prompt-len']} + ${length}, β ${flags.beta}, ${flags.bf16 ? 'bf16' : 'fp32'}`;
  return { name, title, flags, goals: {} };
}

/** `--key value`, and `--key` for true. */
export const flagsOf = (flags) =>
  Object.entries(flags).flatMap(([key, value]) => (value === true ? [`--${key}`] : [`--${key}`, `${value}`]));
