import { uniform } from '../../maths/random.js';

/** A stream of random numbers, apart from those of the prompts and lengths. */
const SHAPES = 3;

/**
 * Flags of `grpo bench`, and of its peers, that a seed draws: a step of at most some 4,000 tokens of the tiny model, or
 * 2,000 of GPT-2.
 */
export function drawnFlags(seed: number): Record<string, string | number | true> {
  let draws = 0;
  const below = (count: number) => Math.floor(count * uniform(seed, SHAPES, draws++));
  const pick = <T>(values: readonly T[]): T => values[below(values.length)]!;
  const model = pick(['tiny', 'tiny', 'gpt2-124m'] as const);
  const most = model === 'tiny' ? 4096 : 2048;
  const group = pick([4, 6, 8, 12, 16]);
  const completion = 16 + below(113);
  const prompt = 16 + below(241);
  const prompts = Math.max(1, Math.min(1 + below(8), Math.floor(most / (prompt + group * completion))));
  return {
    model,
    prompts,
    group,
    'prompt-len': prompt,
    'completion-len': completion,
    beta: pick([0, 0.05]),
    ...(below(2) === 1 && { bf16: true as const }),
    ...(below(3) === 0 && { 'random-lengths': true as const }),
  };
}
