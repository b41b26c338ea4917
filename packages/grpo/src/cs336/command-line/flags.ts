/** The flags of CS336's GRPO script under their own names, and the settings that they stand for. */

export interface AssignmentFlag {
  type: 'boolean' | 'string';
  /** Name of the value in the help. */
  value?: string;
  help: string;
  /** The setting with the same value, or with a fixed one; without it, see `sizes.ts`. */
  key?: string;
  fixed?: string;
}

const value = (key: string | undefined, name: string, help: string): AssignmentFlag => ({
  type: 'string',
  value: name,
  help,
  ...(key !== undefined && { key }),
});

const same = (key: string, name: string): AssignmentFlag => value(key, name, key);

export const assignmentFlags: Readonly<Record<string, AssignmentFlag>> = {
  'n-grpo-steps': same('train.steps', 'N'),
  'learning-rate': same('optimizer.learningRate', 'RATE'),
  'eval-steps': same('eval.every', 'N'),
  'rollout-batch-size': value(undefined, 'N', 'rollout.prompts × rollout.group'),
  'group-size': same('rollout.group', 'N'),
  'train-batch-size': value(undefined, 'N', 'Completions of an update: objective.minibatches follows'),
  'epochs-per-rollout-batch': value(undefined, 'N', 'objective.iterations'),
  'gradient-accumulation-steps': value(undefined, 'N', 'train.microBatchTokens follows'),
  'loss-type': value(
    'objective.loss',
    'NAME',
    'objective.loss: no_baseline, reinforce_with_baseline or grpo_clip',
  ),
  cliprange: same('objective.clipLow', 'RANGE'),
  'use-std-normalization': {
    type: 'boolean',
    help: 'advantage.scale=group',
    key: 'advantage.scale',
    fixed: 'group',
  },
  'no-use-std-normalization': {
    type: 'boolean',
    help: 'advantage.scale=none',
    key: 'advantage.scale',
    fixed: 'none',
  },
  'advantage-eps': same('advantage.epsilon', 'EPS'),
  'sampling-temperature': same('rollout.temperature', 'T'),
  'sampling-min-tokens': same('rollout.minNewTokens', 'N'),
  'sampling-max-tokens': same('rollout.maxNewTokens', 'N'),
  'model-path': same('model', 'DIR'),
  'data-path': same('task.data', 'FILE'),
  'val-data-path': same('task.evalData', 'FILE'),
  'save-dir': value('output', 'DIR', 'output: the run, with checkpoint_step_N/ and final_model/ in it'),
  'wandb-project': value(undefined, 'NAME', 'sinks=[{wandb: NAME}]; needs @wandb/sdk and WANDB_API_KEY'),
  'wandb-run-name': value(undefined, 'NAME', 'Name of the run there'),
};
