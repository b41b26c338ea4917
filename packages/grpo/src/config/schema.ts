import { z } from 'zod';
import { REWARD_ERRORS } from './choices.js';
import { PRESET_NAMES } from './presets/index.js';
import { advantageSection } from './sections/advantage.js';
import { correctionSection } from './sections/correction.js';
import { taskSection } from './sections/data.js';
import { diffusionSection } from './sections/diffusion.js';
import { entropySection } from './sections/entropy.js';
import { groupsSection } from './sections/groups.js';
import { klSection } from './sections/kl.js';
import { loraSection } from './sections/lora.js';
import { byteBudget, count, positiveCount } from './sections/number-schemas.js';
import { objectiveSection } from './sections/objective.js';
import { processesSection } from './sections/processes.js';
import { checkpointSection, doctorSection, evalSection, recordSection } from './sections/progress.js';
import { rewardsList } from './sections/rewards.js';
import { rolloutSection } from './sections/rollout.js';
import { sinksList } from './sections/sinks.js';
import { teacherSection } from './sections/teacher.js';
import { expertSection, optimizerSection, sftSection, trainSection } from './sections/training.js';

/**
 * The configuration: types, defaults, help and validation in one place.
 * Rules between keys are in `rules/`; values that follow from others are filled by `derive.ts`.
 */
export const configSchema = z.strictObject({
  preset: z
    .enum(PRESET_NAMES)
    .optional()
    .describe(
      'Published training settings to begin from; whatever else is given wins. grpo explain NAME shows them. None when not given',
    ),
  model: z
    .string()
    .min(1)
    .optional()
    .describe(
      'Hugging Face model folder, or ORG/NAME of one that grpo fetch got. Needed, except for task.name=arithmetic, sudoku and chess, which make a tiny one',
    ),
  output: z
    .string()
    .min(1)
    .optional()
    .describe('Run folder that is written. runs/<task>-<time> when not given'),
  seed: count.default(0).describe('Whole number that all randomness follows from'),
  device: z
    .enum(['auto', 'cpu', 'cuda', 'mps'])
    .default('auto')
    .describe('Where tensors live; auto is cuda when there is one, else cpu. GRPO_DEVICE sets it too'),
  dtype: z
    .enum(['float32', 'bfloat16'])
    .default('float32')
    .describe('Number type of the weights; bfloat16 halves memory, with float32 masters in the optimizer'),
  threads: positiveCount
    .optional()
    .describe(
      'CPU threads of the engine: more is faster up to the physical cores. All of them when not given',
    ),
  memory: byteBudget
    .default('auto')
    .describe(
      'Bytes that the run may take, such as 12GB: less computes fewer completions and tokens at once. auto is nine tenths of what the machine, its container or its GPU holds, whatever is free of it',
    ),
  rewards: rewardsList,
  onRewardError: z
    .enum(REWARD_ERRORS)
    .default('stop')
    .describe(
      "When a reward function fails on a completion: stop the run, or drop its reward: advantage 0, left out of its group's mean",
    ),
  sinks: sinksList,
  task: taskSection.prefault({}),
  rollout: rolloutSection.prefault({}),
  diffusion: diffusionSection.prefault({}),
  groups: groupsSection.prefault({}),
  objective: objectiveSection.prefault({}),
  advantage: advantageSection.prefault({}),
  kl: klSection.prefault({}),
  teacher: teacherSection.prefault({}),
  entropy: entropySection.prefault({}),
  correction: correctionSection.prefault({}),
  lora: loraSection.prefault({}),
  optimizer: optimizerSection.prefault({}),
  train: trainSection.prefault({}),
  processes: processesSection.prefault({}),
  eval: evalSection.prefault({}),
  checkpoint: checkpointSection.prefault({}),
  record: recordSection.prefault({}),
  doctor: doctorSection.prefault({}),
  sft: sftSection.prefault({}),
  expert: expertSection.prefault({}),
});

/** A configuration as a person writes it: every key optional. */
export type ConfigInput = z.input<typeof configSchema>;

/** After the schema's defaults, before `derive`. */
export type ParsedConfig = z.output<typeof configSchema>;

/** The configuration that the product reads: every default filled in. */
export interface Config extends Omit<ParsedConfig, 'output' | 'objective' | 'advantage'> {
  output: string;
  objective: Filled<
    ParsedConfig['objective'],
    | 'policy'
    | 'ratio'
    | 'aggregation'
    | 'normalizer'
    | 'clipHigh'
    | 'cap'
    | 'divergenceLow'
    | 'divergenceHigh'
  >;
  advantage: Filled<ParsedConfig['advantage'], 'baseline' | 'scale'>;
}

/** T with some of its optional keys given. */
type Filled<T, K extends keyof T> = T & { [P in K]-?: NonNullable<T[P]> };

/** One of `rewards`: a module, a built-in or a model, with its place in the total. */
export type RewardEntry = ParsedConfig['rewards'][number];
