/** What is known of differences between versions of TRL. A new entry is a line; nothing else needs to know of it. */

/** A default of `GRPOConfig`, and what another one does. */
export const KNOWN_DEFAULTS: Readonly<Record<string, string>> = {
  beta: 'At 0 there is no reference model, no KL, and no kl in the log; 0.04 until 0.18. Ours: kl.beta.',
  loss_type:
    'bnpo weighs tokens within a micro-batch, dapo (from 0.22) within the whole batch, grpo each completion alike. Ours: objective.loss.',
  temperature:
    'Of sampling, and a divisor of the logits in every log-prob; 0.9 until 0.17. Ours: rollout.temperature.',
  top_k:
    'Sampling from the 50 likeliest tokens while log-probs are over all; off from 0.18. Ours: rollout.topK.',
  max_completion_length:
    '256 cuts most answers with reasoning; 512 from 1.10 on. Ours: rollout.maxNewTokens.',
  max_prompt_length: 'Prompts were cut on the left to it; gone in 0.28, where long prompts stay whole.',
  scale_rewards: 'True and "group" are the same: the deviation of the group divides. Ours: advantage.scale.',
  mask_truncated_completions:
    'Leaves completions that were cut out of the loss. Ours: objective.maskTruncated.',
  disable_dropout: 'False leaves dropout on while the policy is scored; B38 of the doctor shows it.',
  num_iterations: 'Updates per rollout; above 1 the ratio is no longer 1. Ours: objective.iterations.',
  steps_per_generation: 'Micro-batches served by one generation, apart from the accumulation from 0.18 on.',
  epsilon_high: 'The upper clip; for cispo it is an absolute cap of the ratio. Ours: objective.clipHigh.',
  gradient_checkpointing: 'Slower and smaller; the same gradient.',
  vllm_importance_sampling_correction:
    'Weights by the gap between the sampler of vLLM and the trainer. Ours: correction.level.',
};

/** Code that one version has and the other has not, and what it does. */
export const KNOWN_CODE: readonly { code: RegExp; says: string }[] = [
  {
    code: /logits\s*(=\s*logits\s*)?\/=?\s*(self\.)?temperature/,
    says: 'divides the logits by the temperature before log-probs are taken (trl#3029): without it they are not those of the sampler (B19)',
  },
  {
    code: /nanstd\(rewards\)\.item\(\)/,
    says: 'logs reward_std as the deviation of the whole batch, not as the mean over groups (0.27): a log with it shows no flat groups',
  },
  {
    code: /nanstd\(/,
    says: 'takes deviations without rewards that are missing; the other counts them as 0, or has no value (1.6)',
  },
  {
    code: /num_items_in_batch/,
    says: 'normalizes by the tokens of the whole accumulated batch (dapo, 0.22), not by those of a micro-batch',
  },
  {
    code: /current_gradient_accumulation_steps/,
    says: 'divides the loss by the accumulation steps itself (0.22); the Trainer did so before',
  },
  {
    code: /shuffle_sequence_dict|shuffle_tensor_dict/,
    says: 'shuffles the rows of a rollout into micro-batches (0.18), so that bnpo weighs other tokens together',
  },
  {
    code: /get_high_entropy_mask/,
    says: 'can leave tokens of low entropy out of the policy term (top_entropy_quantile, 0.20)',
  },
  {
    code: /importance_sampling_level/,
    says: 'can take the ratio of whole completions (GSPO, 0.20)',
  },
  {
    code: /coef_1\s*=\s*torch\.clamp\(coef_1[^)]*delta|args\.delta/,
    says: 'can bound the ratio from above on both signs of the advantage (delta, 0.18)',
  },
  {
    code: /sampling_per_token_logps|importance_sampling_ratio/,
    says: 'corrects for a sampler that is not the trainer (vLLM, 0.22)',
  },
  {
    code: /maybe_apply_chat_template/,
    says: 'renders prompts to text and encodes that again: a template with its own BOS then gives two (trl#3853, B04)',
  },
  {
    code: /add_special_tokens\s*=\s*False/,
    says: 'encodes prompts without special tokens: a model that wants a BOS gets none from plain text (trl#3520)',
  },
  {
    code: /position_ids/,
    says: 'gives positions to the model; without them left padding shifts those of GPT-2 (trl#6800)',
  },
];
