import { availableParallelism } from 'node:os';
import { performance } from 'node:perf_hooks';
import { synchronize, torchVersion } from '@grpo/torch';
import { mean, sum } from '../../maths/moments.js';
import { median } from '../../maths/quantile.js';
import { recordStep } from '../../observe/record-step.js';
import { Stopwatch } from '../../observe/stopwatch.js';
import { joinObservers } from '../../step/observer.js';
import { rollOut } from '../../step/roll-out.js';
import type { Trainer } from '../../step/trainer.js';
import { benchTrainer, problemsOf } from './bench-trainer.js';
import { stageFloors } from './floor.js';
import { type StageFlops, stageFlops } from './flops.js';
import { type Machine, measureMachine, stolenSeconds } from './machine.js';
import { benchModels, type Workload } from './workload.js';

/** Seconds of a stage, the median over the steps, and its work in them. */
export interface StageRow {
  stage: keyof StageFlops | 'optimizer';
  seconds: number;
  /** Tokens that were computed. */
  tokensPerSecond?: number;
  gflops?: number;
  /** Seconds that it takes at least on this machine: see `stageFloors`. */
  floor: number;
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
  /** Seconds ÷ floor: of decoding, and of the step over all stages' floors. */
  decode_over_floor: number;
  step_over_floor: number;
  /** Share of the cores' time that the host of a virtual machine kept for others during the steps. */
  stolen_share: number;
}

/** Does the workload's steps; the first, which warms up, is not among the medians. */
export async function measure(work: Workload): Promise<BenchResult> {
  using trainer = await benchTrainer(work);
  const steps: { total: number; rollout: number; seconds: Record<string, number>; lengths: number[] }[] = [];
  const loss: number[] = [];
  const kl: (number | null)[] = [];
  let gap = 0;
  const [stolen, began] = [stolenSeconds(), performance.now()];
  for (let step = 0; step < work.steps; step++) {
    const problems = problemsOf(step, work);
    const start = performance.now();
    const result = await recordStep(trainer, problems, step, 1e-6);
    synchronize();
    const total = (performance.now() - start) / 1000;
    const { seconds, batch, metrics } = result;
    const lengths = batch.completions_B.map(({ ids }) => ids.length);
    steps.push({ total, rollout: seconds.sample!, seconds, lengths });
    loss.push(result.loss);
    kl.push(metrics.kl ?? null);
    gap = Math.max(gap, metrics['sampling/sampling_logp_difference/max'] ?? 0);
  }
  const coreSeconds = (availableParallelism() * (performance.now() - began)) / 1000;
  const stolen_share = (stolenSeconds() - stolen) / coreSeconds;
  const peak = process.resourceUsage().maxRSS / 1024;
  const counted = steps.length > 1 ? steps.slice(1) : steps;
  const step_s_median = median(counted.map(({ total }) => total));
  const rollout_s_median = median(counted.map(({ rollout }) => rollout));
  const lengths = counted[0]!.lengths;
  const mean_length = mean(lengths);
  const prefill = await prefillSeconds(trainer, work);
  const machine = measureMachine(trainer.model.decoder.dtype, work.device);
  const stages = stageRows(work, prefill, counted, machine);
  const { seconds, floor } = stages.find(({ stage }) => stage === 'decode')!;
  return {
    workload: work,
    torch: torchVersion(),
    params: [...trainer.model.decoder.parameters.values()].reduce((sum, p) => sum + p.numel, 0),
    step_s_median,
    rollout_s_median,
    train_s_median: step_s_median - rollout_s_median,
    mean_length,
    rollout_tok_per_s: (lengths.length * mean_length) / rollout_s_median,
    peak_rss_mb: peak,
    loss,
    kl,
    sampler_gap_max: gap,
    stages,
    triad_gb_s: machine.bytesPerSecond / 1e9,
    decode_over_floor: seconds / floor,
    step_over_floor: step_s_median / stages.reduce((sum, stage) => sum + stage.floor, 0),
    stolen_share,
  };
}

/** A rollout of one token is the prompts' computation and one draw. */
async function prefillSeconds(trainer: Trainer, work: Workload): Promise<number> {
  const { stages } = trainer;
  const sampling = { ...trainer.sampling, maxNewTokens: 1, minNewTokens: 1 };
  const one: Trainer = {
    ...trainer,
    sampling,
    stages: {
      ...stages,
      sample: (model, requests, options, seed) => {
        const single = requests.map((request) => ({
          ...request,
          limits: Array<number>(request.count).fill(1),
        }));
        return stages.sample(model, single, options, seed);
      },
    },
  };
  const seconds: number[] = [];
  for (let i = 0; i < 3; i++) {
    const clock = new Stopwatch();
    await rollOut(one, problemsOf(i, work), i, joinObservers([clock]));
    seconds.push(clock.seconds.sample!);
  }
  return median(seconds);
}

function stageRows(
  work: Workload,
  prefill: number,
  steps: readonly { seconds: Record<string, number>; lengths: number[] }[],
  machine: Machine,
): StageRow[] {
  const { lengths } = steps[0]!;
  const floors = stageFloors(benchModels[work.model], work, lengths, machine);
  const flops = stageFlops(benchModels[work.model], work, lengths);
  const tokens = sum(lengths);
  const promptTokens = work.prompts * work.promptLength;
  const secondsOf = (name: string) => median(steps.map(({ seconds }) => seconds[name] ?? 0));
  const row = (stage: keyof StageFlops, seconds: number, computed: number): StageRow => ({
    stage,
    seconds,
    tokensPerSecond: computed / seconds,
    gflops: flops[stage] / seconds / 1e9,
    floor: floors[stage],
  });
  return [
    row('prefill', prefill, promptTokens),
    row('decode', secondsOf('sample') - prefill, tokens),
    row('logprob', secondsOf('logprob'), promptTokens + tokens),
    ...(work.beta > 0 ? [row('reference', secondsOf('reference'), promptTokens + tokens)] : []),
    row('backward', secondsOf('backward'), promptTokens + tokens),
    { stage: 'optimizer', seconds: secondsOf('update'), floor: floors.optimizer },
  ];
}
