import { setThreads } from '@grpo/torch';
import { z } from 'zod';
import { UsageError } from '../../config/index.js';
import { drawnFlags } from '../../lab/bench/drawn-flags.js';
import { measureGflops } from '../../lab/bench/machine.js';
import { type BenchResult, measure } from '../../lab/bench/measure.js';
import { BENCH_MODELS, type Workload } from '../../lab/bench/workload.js';
import { Watch } from '../../progress/watch.js';
import type { CommandArguments } from '../command.js';
import { createReporter } from '../live.js';
import { alignColumns } from '../text-layout.js';

const count = (least: number, fallback: number) => z.coerce.number().int().min(least).default(fallback);

const flagsSchema = z.object({
  seed: z.coerce.number().int().min(0).optional(),
  model: z.enum(BENCH_MODELS).default('tiny'),
  'prompt-len': count(1, 64),
  'completion-len': count(4, 64),
  group: count(2, 8),
  prompts: count(1, 8),
  steps: count(2, 4),
  beta: z.coerce.number().min(0).default(0),
  micro: count(0, 0),
  threads: count(0, 0),
  bf16: z.boolean().default(false),
  'random-lengths': z.boolean().default(false),
  device: z.enum(['cpu', 'cuda']).default('cpu'),
});

/** `grpo bench`: times GRPO steps on random weights. */
export async function run({ flags }: CommandArguments): Promise<number> {
  const work = workloadOf(flags);
  if (work.threads > 0) setThreads(work.threads);
  using reporter = createReporter({ stream: process.stderr });
  const result = await measure(work, new Watch(reporter));
  const rate = measureGflops(work.bf16 ? 'bfloat16' : 'float32', work.device);
  reporter.close();
  process.stdout.write(
    flags.json ? `${JSON.stringify({ ...result, matmul_gflops: rate })}\n` : report(result, rate),
  );
  return 0;
}

function workloadOf({ json: _, ...flags }: CommandArguments['flags']): Workload {
  const seed = Number(flags.seed);
  const parsed = flagsSchema.safeParse(Number.isInteger(seed) ? { ...drawnFlags(seed), ...flags } : flags);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new UsageError(`--${issue!.path.join('.')}: ${issue!.message}.`, {
      hint: 'grpo bench --help shows what it takes.',
    });
  }
  const { 'prompt-len': promptLength, 'completion-len': completionLength, ...rest } = parsed.data;
  const { 'random-lengths': randomLengths, seed: _seed, ...work } = rest;
  return { ...work, promptLength, completionLength, randomLengths };
}

function report(result: BenchResult, rate: number): string {
  const { workload: work } = result;
  const lines = [
    `${work.model}, ${(result.params / 1e6).toFixed(1)} million parameters, ${work.bf16 ? 'bfloat16' : 'float32'} on ${work.device}; libtorch ${result.torch}`,
    `${work.prompts} prompts × ${work.group} completions, ${work.promptLength} + ${result.mean_length.toFixed(1)} tokens, β ${work.beta}`,
    '',
    `step       ${seconds(result.step_s_median)}`,
    `rollout    ${seconds(result.rollout_s_median)}   ${result.rollout_tok_per_s.toFixed(0)} tokens/s`,
    `training   ${seconds(result.train_s_median)}`,
    `memory     ${result.peak_rss_mb.toFixed(0).padStart(7)} MB at most`,
    `sampler and trainer differ by ${result.sampler_gap_max.toExponential(1)} nats per token at most`,
    '',
    ...alignColumns([
      ['stage', 'seconds', 'tokens/s', 'GFLOP/s', `of ${rate.toFixed(0)}`, 'floor', '× floor'],
      ...result.stages.map(({ stage, seconds, tokensPerSecond, gflops, floor, overFloor }) => [
        stage,
        seconds.toFixed(3),
        tokensPerSecond?.toFixed(0) ?? '',
        gflops?.toFixed(0) ?? '',
        gflops === undefined ? '' : `${((100 * gflops) / rate).toFixed(0)}%`,
        floor.toFixed(3),
        overFloor.toFixed(2),
      ]),
    ]),
    '',
    `The step takes ${result.step_over_floor.toFixed(2)} × the sum of the floors, decoding ${result.decode_over_floor.toFixed(2)} × its own.`,
    `A floor: arithmetic at the best rate of each product's shape, or bytes at ${result.triad_gb_s.toFixed(1)} GB/s, whichever is longer.`,
    ...(result.stolen_share > NOTED
      ? [
          `The host of this virtual machine kept ${(100 * result.stolen_share).toFixed(0)} % of the cores' time for others: the steps would be faster without.`,
        ]
      : []),
  ];
  return `${lines.join('\n')}\n`;
}

/** Share of the cores' time that is more than the scatter of equal runs. */
const NOTED = 0.02;

const seconds = (value: number) => `${value.toFixed(3).padStart(7)} s`;
