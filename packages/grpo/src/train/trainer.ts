import type { AdamW } from '@grpo/torch';
import type { Config } from '../config/schema.js';
import type { Decoder, Model } from '../models/index.js';
import type { SamplingOptions } from '../rollout/index.js';
import type { Task } from '../tasks/task.js';
import type { Control } from './control.js';
import type { Stages } from './stages.js';

/** What a GRPO step works with. */
export interface Trainer {
  model: Model;
  /** The frozen policy that the KL is measured to; only with a β. */
  reference: Decoder | undefined;
  task: Task;
  optimizer: AdamW;
  config: Config;
  sampling: SamplingOptions;
  /** Weights of the objective that change while training. */
  control: Control;
  stages: Stages;
  /** Stages that a user put in place of ours. */
  ownStages?: readonly string[];
  /** Whether each update is to tell how many weights it changed. */
  measureWeights?: boolean;
  /** Whether this step is to score a completion again, for its record. */
  probeScoring?: boolean;
}
