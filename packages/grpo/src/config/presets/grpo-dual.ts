import { cite, type Preset } from './preset.js';

const TRAINER = 'grpo-dual src/grpo/trainer.py';

export const grpoDual: Preset = {
  summary: 'Llama 3 8B on two tasks, fairness and hallucination: a ratio of mean log-probs',
  values: {
    ...cite(TRAINER, {
      'train.steps': 500,
      'rollout.prompts': 6,
      'rollout.group': 4,
      'rollout.maxNewTokens': 96,
      'rollout.minNewTokens': 5,
      'rollout.temperature': 0.75,
      'rollout.topK': 50,
      'rollout.topP': 0.9,
      'rollout.keepSupport': false,
      'rollout.repetitionPenalty': 1.3,
      'rollout.presencePenalty': 0.7,
      'rollout.frequencyPenalty': 0.3,
      'objective.loss': 'gspo',
      'objective.clipLow': 0.1,
      'objective.iterations': 1,
      'kl.beta': 0.05,
      'kl.estimator': 'k3',
      'kl.level': 'sequence_mean',
      'kl.clip': 20,
      'kl.control': 'lagrangian',
      'kl.target': 0.1,
      'kl.rate': 0.1,
      'kl.window': 20,
      'kl.least': 0.01,
      'advantage.flatBelow': 0.01,
      'advantage.flat': 'zero',
      'advantage.clip': 5,
      'optimizer.learningRate': 3e-6,
      'lora.rank': 8,
      'lora.alpha': 16,
    }),
    ...cite(`${TRAINER}: the first value, before its wrong sign was answered with larger ones, up to 6`, {
      'entropy.coefficient': 0.2,
    }),
  },
  unsupported: [
    { what: 'one β per task', why: 'it needs a field of your rows that names the task: kl.kindKey=FIELD' },
    { what: 'LoRA with dropout 0.1', why: 'the policy would be scored in another way than it samples' },
    {
      what: 'a task of its own for half of each batch',
      why: 'a run has one task; each group is compared within itself anyway',
    },
    {
      what: 'rewards bounded to ± 1',
      why: 'rewards are taken as they are; a reward of your own can bound them',
    },
    {
      what: 'rewards divided by a moving deviation',
      why: 'dividing all rewards of a group changes nothing once they are divided by their deviation',
    },
    { what: 'the repetition penalty on the prompt', why: 'penalties look at generated tokens only' },
    { what: 'gradients of the tasks projected where they conflict', why: 'a run has one task' },
    { what: 'an entropy bonus of the wrong sign', why: 'entropy.coefficient raises the entropy' },
    { what: 'pad token = end token', why: 'a batch has no padding' },
  ],
};
