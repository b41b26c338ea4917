import { availableParallelism } from 'node:os';
import { performance } from 'node:perf_hooks';
import { torchVersion } from '@grpo/torch';
import { mean, sum } from '../../maths/moments.js';
import { median } from '../../maths/quantile.js';
import type { Watch } from '../../progress/watch.js';
import { benchTrainer } from './bench-trainer.js';
import { floorOf } from './floor.js';
import { type StageFlops, stageFlops } from './flops.js';
import { bandwidth } from './machine.js';
import { type TimedStep, timedStep } from './timed-step.js';
import { benchModels, type Workload } from './workload.js';

/** A stage: medians over the steps. */
export interface StageRow {
  stage: keyof StageFlops | 'optimizer';
  seconds: number;
  /** Tokens that were computed. */
  tokensPerSecond?: number;
  gflops?: number;
  /** Seconds that it takes at least on this machine: see `stageNeeds`. */
  floor: number;
  /** Of a step's seconds by its own floor. */
  overFloor: number;
}

/** The keys are those of `bench/trl_grpo.py`. */
export interface BenchResult {
  workload: Workload;
  torch: string;
  params: number;
  step_s_median: number;
  rollout_s_median: number;
  train_s_median: number;
  mean_length: number;
  rollout_tok_per_s: number;
  peak_rss_mb: number;
  loss: number[];
  kl: (number | null)[];
  /** Largest difference between sampler and trainer, in nats a token. */
  sampler_gap_max: number;
  stages: StageRow[];
  /** Measured bandwidth, 10⁹ bytes a second. */
  triad_gb_s: number;
  /** Seconds ÷ floor, the median over the steps: of decoding, and of the step over all stages' floors. */
  decode_over_floor: number;
  step_over_floor: number;
  /** Share of the cores' time that the host of a virtual machine kept for others during the steps. */
  stolen_share: number;
}

/** V8 compiles what is new to it for so long, on a core that the threads then lack. */
const WARM_UP_MS = 5000;

/** Does the workload's steps. The first, which warms up, is repeated for five seconds and is not among the medians. */
export async function measure(work: Workload, watch: Watch): Promise<BenchResult> {
  using trainer = await benchTrainer(work);
  const began = performance.now();
  const report = (stage: string, done: number, total: number) =>
    watch.report({ stage, done, total, unit: 'steps' });
  let warmUps = 0;
  do {
    report('warm-up', warmUps, 0);
    await timedStep(trainer, work, warmUps++);
  } while (performance.now() - began < WARM_UP_MS);
  const steps: TimedStep[] = [];
  while (steps.length < work.steps - 1) {
    report('benchmark', steps.length, work.steps - 1);
    steps.push(await timedStep(trainer, work, warmUps + steps.length));
  }
  const peak = process.resourceUsage().maxRSS / 1024;
  const bytesPerSecond = bandwidth(work.device);
  const ofSteps = steps.map((step) => stageRows(work, step, bytesPerSecond));
  const stages = ofSteps[0]!.map((_, i) => medianRow(ofSteps.map((rows) => rows[i]!)));
  const over = (of: (step: TimedStep, i: number) => number) => median(steps.map(of));
  const step_s_median = over(({ total }) => total);
  const rollout_s_median = over(({ seconds }) => seconds.sample!);
  const totals = sum(steps.map(({ total }) => total));
  return {
    workload: work,
    torch: torchVersion(),
    params: sum([...trainer.model.decoder.parameters.values()].map(({ numel }) => numel)),
    step_s_median,
    rollout_s_median,
    train_s_median: step_s_median - rollout_s_median,
    mean_length: mean(steps.flatMap(({ lengths }) => lengths)),
    rollout_tok_per_s: over(({ lengths, seconds }) => sum(lengths) / seconds.sample!),
    peak_rss_mb: peak,
    loss: steps.map(({ loss }) => loss),
    kl: steps.map(({ kl }) => kl),
    sampler_gap_max: Math.max(...steps.map(({ gap }) => gap)),
    stages,
    triad_gb_s: bytesPerSecond / 1e9,
    decode_over_floor: stages.find(({ stage }) => stage === 'decode')!.overFloor,
    step_over_floor: over(({ total }, i) => total / sum(ofSteps[i]!.map(({ floor }) => floor))),
    stolen_share: sum(steps.map(({ stolen }) => stolen)) / (availableParallelism() * totals),
  };
}

function stageRows(work: Workload, step: TimedStep, bytesPerSecond: number): StageRow[] {
  const { lengths, seconds, prefill, needs } = step;
  const flops = stageFlops(benchModels[work.model], work, lengths);
  const tokens = sum(lengths);
  const promptTokens = work.prompts * work.promptLength;
  const timed = (stage: StageRow['stage'], seconds: number) => {
    const floor = floorOf(needs[stage], bytesPerSecond);
    return { stage, seconds, floor, overFloor: seconds / floor };
  };
  const row = (stage: keyof StageFlops, seconds: number, computed: number): StageRow => ({
    ...timed(stage, seconds),
    tokensPerSecond: computed / seconds,
    gflops: flops[stage] / seconds / 1e9,
  });
  return [
    row('prefill', prefill, promptTokens),
    row('decode', seconds.sample! - prefill, tokens),
    row('logprob', seconds.logprob!, promptTokens + tokens),
    ...(work.beta > 0 ? [row('reference', seconds.reference!, promptTokens + tokens)] : []),
    row('backward', seconds.backward!, promptTokens + tokens),
    timed('optimizer', seconds.update!),
  ];
}

/** The same stage of all steps. */
function medianRow(rows: readonly StageRow[]): StageRow {
  const over = (of: (row: StageRow) => number) => median(rows.map(of));
  const [{ stage, gflops }] = rows as [StageRow];
  return {
    stage,
    seconds: over(({ seconds }) => seconds),
    ...(gflops !== undefined && {
      tokensPerSecond: over(({ tokensPerSecond }) => tokensPerSecond!),
      gflops: over(({ gflops }) => gflops!),
    }),
    floor: over(({ floor }) => floor),
    overFloor: over(({ overFloor }) => overFloor),
  };
}
