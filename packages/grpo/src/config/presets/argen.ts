import { cite, type Preset } from './preset.js';

const SCRIPT = 'argen-demo train_grpo.py';

export const argen: Preset = {
  summary: 'Llama 3.2 1B on three judged rewards, with TRL 0.17',
  values: {
    ...cite(SCRIPT, {
      'objective.iterations': 2,
      'kl.beta': 0.1,
      'rollout.group': 6,
      'rollout.maxNewTokens': 256,
      'rollout.temperature': 0.9,
      'rollout.topP': 1,
      'eval.temperature': 0.2,
      'optimizer.learningRate': 3.2e-6,
      'optimizer.schedule': 'linear',
      'optimizer.warmupSteps': 5,
      'optimizer.maxGradNorm': 1,
    }),
    ...cite(`${SCRIPT}: batch 12, 6 generations`, { 'rollout.prompts': 2 }),
    ...cite('TRL 0.17.0 GRPOConfig', {
      'objective.loss': 'bnpo',
      'objective.clipLow': 0.2,
      'kl.estimator': 'k3',
      'rollout.topK': 50,
      'advantage.epsilon': 1e-4,
    }),
    ...cite('TRL 0.17.0 GRPOConfig: scale_rewards=False of the script never reached the trainer', {
      'advantage.scale': 'group',
    }),
    ...cite('TRL 0.17.0 GRPOTrainer: log-probs are kept where num_iterations > 1', {
      'objective.oldLogprobs': 'recompute',
    }),
    ...cite('TRL 0.17.0 GRPOTrainer: log-probs are of the whole vocabulary', {
      'rollout.keepSupport': false,
    }),
    ...cite('TRL 0.17.0 GRPOTrainer', { 'objective.compat': 'trl-1.10' }),
  },
  unsupported: [
    { what: '3 epochs', why: 'train.steps counts steps, whatever the size of the data' },
    {
      what: 'kl_beta_end, beta_schedule, target_kl, minimum_lr',
      why: 'the script set them and its trainer never read them: β and the schedule were those above',
    },
    {
      what: 'a reward of 0.5 for what is no text',
      why: 'a reward that fails stops the run, or is dropped (onRewardError)',
    },
    { what: 'pad token = end token', why: 'a batch has no padding' },
    { what: 'prompts cut at 768 tokens', why: 'prompts are never cut' },
    {
      what: 'bf16 arithmetic over float32 weights',
      why: 'dtype=bfloat16 keeps the weights so, with float32 masters',
    },
    { what: 'early stopping on the evaluation', why: 'a run has train.steps steps' },
  ],
};
