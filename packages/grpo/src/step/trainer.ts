import type { AdamW } from '@grpo/torch';
import type { Config } from '../config/schema.js';
import type { Decoder, Model } from '../models/index.js';
import { hiddenRegion, type ScoredGroup } from '../objective/index.js';
import type { Watch } from '../progress/watch.js';
import type { TeacherServer } from '../remote/index.js';
import type { SamplingOptions } from '../rollout/index.js';
import type { Problem, Task } from '../tasks/task.js';
import type { ServerRecord } from '../trace/index.js';
import type { Control } from './control.js';
import type { MovingReference } from './moving-reference.js';
import type { StepObserver } from './observer.js';
import type { Peers } from './peers/peers.js';
import type { ReplayStore } from './replay-store.js';
import type { Stages } from './stages.js';

/** Checksums of the weights and of the optimizer's state after a step. */
export interface WeightChecksums {
  policy: number;
  optimizer: number;
  reference?: number | undefined;
  /** Of the policy that sampled the first step of the run. */
  first?: number | undefined;
}

/** A completion that a checkpoint carries, with its log-probs under the weights that it holds. */
export interface CarriedCompletion {
  prompt: readonly number[];
  ids: readonly number[];
  logprobs: readonly number[];
  /** Of a masked-diffusion model: all that it filled; the log-probs are those with all of it hidden. */
  region?: readonly number[] | undefined;
}

/** A carried completion as it is scored. */
export const carriedGroup = ({ prompt, ids, region }: Omit<CarriedCompletion, 'logprobs'>): ScoredGroup => ({
  prompt,
  completions: [ids],
  ...(region && { masked: [hiddenRegion(prompt, region)] }),
});

/** Models, settings and stages of a GRPO step. */
export interface Trainer {
  model: Model;
  /** The frozen policy that the KL is measured to: the starting model, or the teacher. Only with a β. */
  reference: Decoder | undefined;
  /** Scores in place of a reference: a teacher on a server. */
  teacherServer?: Pick<TeacherServer, 'score'> | undefined;
  /** Where the reference is a teacher: the rest of its folder. */
  teacher?: Pick<Model, 'configJson' | 'tokenizer'> | undefined;
  /** Mixes the policy into the reference, where the settings say so. */
  movingReference?: MovingReference | undefined;
  /** Checksums of the weights after the step before; undefined where they are not known. */
  checksums?: WeightChecksums | undefined;
  /** In the first step after a resume: completions of the checkpoint, which tell whether the run goes on from it. */
  restored?: { completions: readonly CarriedCompletion[] } | undefined;
  task: Task;
  /** Further problems, where groups are refilled; without it none are. */
  supply?: { take(count: number): readonly Problem[] } | undefined;
  /** Steps that were done and problems that were taken when the trainer was opened; a new run's when missing. */
  begun?: { steps: number; problems: number };
  /** Groups of earlier steps that may be replayed. */
  replay?: ReplayStore | undefined;
  optimizer: AdamW;
  config: Config;
  /** Bytes that activations may take before `train.recompute=auto` computes them again; no bound where it is left out. */
  activationRoom?: number;
  /** The memory that the audit lacks to compute completions again, in words; undefined where it lacks none. */
  auditLack?: string | undefined;
  sampling: SamplingOptions;
  /** The servers that sample, and how they answered the probe of the weights that they have; none where this process samples. */
  servers?: { readonly records: readonly ServerRecord[] } | undefined;
  /** Weights of the objective that change while training. */
  control: Control;
  stages: Stages;
  /** The processes that take each step together; undefined for one alone. */
  peers?: Peers | undefined;
  /** Stages that a user put in place of ours. */
  ownStages?: readonly string[];
  /** Hears how far a step is, and may abandon it before its first update. */
  watch?: Watch | undefined;
  /** Watch each step; without them it does the same. */
  observers?: readonly StepObserver[];
}
