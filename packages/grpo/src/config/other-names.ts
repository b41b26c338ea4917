/** Settings as other trainers call them. */

/** TRL's name of a setting, and what verl and others call the very same. */
export const TRL_NAMES: Readonly<Record<string, readonly string[]>> = {
  num_generations: [
    'actor_rollout_ref.rollout.n',
    'group_size',
    'n_samples_per_prompt',
    'num_samples_per_prompt',
    'rollouts_per_prompt',
    'samples_per_prompt',
    'rollouts_per_example',
  ],
  max_completion_length: [
    'data.max_response_length',
    'max_response_length',
    'max_new_tokens',
    'max_gen_len',
    'max_tokens',
  ],
  max_prompt_length: ['data.max_prompt_length'],
  learning_rate: ['actor_rollout_ref.actor.optim.lr', 'lr', 'actor_learning_rate'],
  beta: ['kl_coef', 'kl_beta', 'kl_coeff', 'init_kl_coef'],
  temperature: ['actor_rollout_ref.rollout.temperature', 'sampling_temperature'],
  max_steps: ['total_optimization_steps', 'total_training_steps', 'trainer.total_training_steps'],
  top_p: ['actor_rollout_ref.rollout.top_p'],
  max_grad_norm: ['actor_rollout_ref.actor.grad_clip', 'grad_clip', 'clip_grad'],
};

/** Our key nearest in meaning to a name, where letters do not tell. */
export const OUR_KEYS: Readonly<Record<string, string>> = {
  model_name_or_path: 'model',
  torch_dtype: 'dtype',
  bf16: 'dtype',
  fp16: 'dtype',
  report_to: 'sinks',
  wandb: 'sinks',
  reward_funcs: 'rewards',
  dataset: 'task.data',
  dataset_name: 'task.data',
  train_dataset: 'task.data',
  train_files: 'task.data',
  eval_dataset: 'task.evalData',
  val_files: 'task.evalData',
  batch_size: 'rollout.prompts',
  train_batch_size: 'rollout.prompts',
  num_generations: 'rollout.group',
  max_completion_length: 'rollout.maxNewTokens',
  loss_type: 'objective.loss',
  num_iterations: 'objective.iterations',
  epsilon: 'objective.clipLow',
  epsilon_high: 'objective.clipHigh',
  scale_rewards: 'advantage.scale',
  beta: 'kl.beta',
  lora_r: 'lora.rank',
  target_modules: 'lora.targets',
  learning_rate: 'optimizer.learningRate',
  lr_scheduler_type: 'optimizer.schedule',
  warmup: 'optimizer.warmupSteps',
  warmup_steps: 'optimizer.warmupSteps',
  warmup_ratio: 'optimizer.warmupSteps',
  steps: 'train.steps',
  max_steps: 'train.steps',
  epochs: 'train.steps',
  num_train_epochs: 'train.steps',
  per_device_train_batch_size: 'train.microBatchTokens',
  gradient_accumulation_steps: 'train.microBatchTokens',
  eval_steps: 'eval.every',
  test_freq: 'eval.every',
  save_steps: 'checkpoint.every',
  save_freq: 'checkpoint.every',
  save_total_limit: 'checkpoint.keep',
};

const plain = (name: string) => name.toLowerCase().replace(/[_-]/g, '');
const lastPart = (name: string) => name.slice(name.lastIndexOf('.') + 1);
const ours = new Map<string, string>();
for (const [name, key] of Object.entries(OUR_KEYS))
  for (const one of [name, ...(TRL_NAMES[name] ?? [])]) ours.set(plain(lastPart(one)), key);

/** Our key of what another trainer calls by this name, whatever its section; undefined where none is known. */
export const oursOf = (written: string): string | undefined => ours.get(plain(lastPart(written)));
