import { performance } from 'node:perf_hooks';
import { synchronize } from '@grpo/torch';
import { recordStep } from '../../observe/record-step.js';
import { Stopwatch } from '../../observe/stopwatch.js';
import { joinObservers } from '../../step/observer.js';
import { rollOut } from '../../step/roll-out.js';
import type { Trainer } from '../../step/trainer.js';
import { problemsOf } from './bench-trainer.js';
import { stageNeeds } from './floor.js';
import { productRates, stolenSeconds } from './machine.js';
import { benchModels, type Workload } from './workload.js';

/** A step, and what the machine could do right after it: its speed changes while others use it. */
export interface TimedStep {
  /** Seconds of all of it, of each stage, and of the prompts' share of sampling. */
  total: number;
  seconds: Record<string, number>;
  prefill: number;
  /** Seconds that the host of a virtual machine kept of the cores meanwhile. */
  stolen: number;
  /** Tokens of each completion, a prompt's side by side. */
  lengths: number[];
  loss: number;
  kl: number | null;
  /** Largest difference between sampler and trainer, in nats a token. */
  gap: number;
  needs: ReturnType<typeof stageNeeds>;
}

export async function timedStep(trainer: Trainer, work: Workload, step: number): Promise<TimedStep> {
  const [stolenBefore, start] = [stolenSeconds(), performance.now()];
  const { seconds, batch, metrics, loss } = await recordStep(trainer, problemsOf(step, work), step, 1e-6);
  synchronize();
  const total = (performance.now() - start) / 1000;
  const stolen = stolenSeconds() - stolenBefore;
  const lengths = batch.completions_B.map(({ ids }) => ids.length);
  const prefill = await prefillSeconds(trainer, work, step);
  const rates = productRates(trainer.model.decoder.dtype, work.device);
  return {
    ...{ total, seconds, prefill, stolen, lengths, loss },
    kl: metrics.kl ?? null,
    gap: metrics['sampling/sampling_logp_difference/max'] ?? 0,
    needs: stageNeeds(benchModels[work.model], work, lengths, rates),
  };
}

/** A rollout of one token lays out the weights, computes the prompts and draws once. */
async function prefillSeconds(trainer: Trainer, work: Workload, step: number): Promise<number> {
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
  const clock = new Stopwatch();
  await rollOut(one, problemsOf(step, work), step, joinObservers([clock]));
  return clock.seconds.sample!;
}
