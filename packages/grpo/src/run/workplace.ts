import { type ResolvedConfig, requireModelKind } from '../config/index.js';
import type { Config } from '../config/schema.js';
import { requireDemonstrations } from '../imitation/examples.js';
import type { Estimate } from '../memory/estimate.js';
import { auditLack } from '../memory/memory-lines.js';
import type { LoadedModel } from '../models/index.js';
import type { Loss } from '../objective/index.js';
import type { Watch } from '../progress/watch.js';
import { samplingOf } from '../step/sampling.js';
import type { Stages } from '../step/stages.js';
import type { Trainer } from '../step/trainer.js';
import type { LoadedTask } from '../tasks/index.js';
import type { Task } from '../tasks/task.js';
import type { Progress } from './folder/progress.js';
import { planMemory } from './memory-plan.js';
import { openTrained } from './model-source.js';
import type { RunPeers } from './ranks/run-peers.js';
import { requireWholeCharacters } from './rows-fit.js';

/** What a process needs to take the steps of a run. */
export interface Workplace
  extends Pick<
    Trainer,
    'config' | 'model' | 'optimizer' | 'auditLack' | 'sampling' | 'servers' | 'teacherServer'
  > {
  /** Bytes that activations may take before `train.recompute=auto` computes them again. */
  activationRoom: number;
  task: LoadedTask;
  /** That of `objective.module`. */
  loss: Loss | undefined;
  /** Samples on the run's servers, or in this process. */
  sample: Stages['sample'];
  progress: Progress;
  /** Tells how far the work is, and abandons it when the signal comes. */
  watch: Watch;
  /** The other processes of the run; undefined for one alone. */
  peers: RunPeers | undefined;
}

/**
 * Opens the model that a run trains, and plans the memory of the run with it.
 *
 * @param resolved - with `memory` in bytes
 * @param checkpoint - that the weights are of
 */
export function openPlanned(
  resolved: ResolvedConfig,
  task: Task,
  { checkpoint, watch }: { checkpoint?: string | undefined; watch: Watch },
): { model: LoadedModel; plan: Estimate } {
  requireWholeCharacters(task, resolved.command);
  if (resolved.command === 'sft') requireDemonstrations(task);
  let plan: Estimate | undefined;
  const model = openTrained(resolved.config, {
    checkpoint,
    watch: watch.finishing(),
    beforeWeights: (shape) => {
      requireModelKind(resolved, shape.config.diffusion !== undefined);
      plan = planMemory(resolved, shape, task);
    },
  });
  return { model, plan: plan! };
}

/** How much a process computes at once. */
export function sizesOf(
  config: Config,
  plan: Estimate,
  task: Task,
): Pick<Workplace, 'config' | 'activationRoom' | 'auditLack' | 'sampling'> {
  const { lotBytes, microBatchTokens, activationRoom } = plan;
  return {
    // What is computed at once is held to the budget.
    config: { ...config, train: { ...config.train, microBatchTokens } },
    activationRoom,
    auditLack: auditLack(plan),
    sampling: samplingOf(config, task.stop, lotBytes),
  };
}
