// Real runs of a folder and what a reader of their numbers would say of them. `first` is what the leading sentence must
// name, `never` what no sentence, remedy or verdict may say. `half`: A where thresholds were found, B where they were shown.
const rho = (name) => `group2-rho-sweep/rho${name}.log`;
const clean8b = 'grpo-clean-8b/enhanced_grpo_8B_runs/v3-LR6e-6-';
const parallel = 'grpo-clean-model-parallel/model_parallel_only_outputs/';
const shows = {
  rewardFell: /reward (?:fell|falls|collaps|dropped)/i,
  noise: /reward (?:fell|falls|collaps|dropped)|entropy (?:rose|grew|ran)/i,
  runsOn: /(?:cut off|truncated|completions).*(?:rose|more|stop ending)|stop ending|forgets how to stop/i,
  allCut:
    /(?:nearly all|every|all|most) completions? (?:is|are|were) (?:truncated|cut)|(?:of the )?completions (?:are|were) (?:truncated|cut).*(?:from the start|throughout|whole run)/i,
  reference: /reference is (?:not|another)|KL begins? at|KL (?:of|at|in) (?:step|the first|entry) /i,
  still: /not moved|nothing moves|did not move|neither .* moved|has not (?:changed|learnt|learned)/i,
  noSignal: /(?:groups|steps).*(?:equal rewards|no signal|flat)|no signal/i,
};
const never = {
  prompts: /medium difficulty|middling/i,
  sync: /weights do not reach/i,
  loss: /loss is (?:exactly )?0/i,
  clean: /found nothing wrong|nothing wrong was found/i,
  void: /checkpoints are void/i,
};

const sick = [
  { path: rho('0.10_seed43'), first: shows.rewardFell, never: [never.prompts] },
  { path: rho('0.30_seed42'), first: shows.rewardFell, never: [never.prompts] },
  { path: rho('1.00_seed42'), first: shows.noise, never: [never.sync, never.prompts] },
  { path: rho('0.50_seed43'), first: shows.rewardFell, never: [never.prompts] },
  { path: rho('1.50_seed42'), first: shows.runsOn, never: [] },
  {
    path: 'xling-a2-vi',
    first: /format.*(?:never|0 in all|nobody|no completion)/i,
    never: [never.loss, never.void],
  },
  { path: 'aaipl-128-tokens', first: shows.allCut, never: [never.clean] },
  {
    path: 'f1-simulator',
    first: /groups.*equal rewards|within .*group/i,
    never: [never.prompts, /pointer/i],
  },
  { path: `${clean8b}R16-20250614-221630`, first: shows.reference, never: [never.clean] },
  { path: `${clean8b}R16-20250615-021543`, first: shows.reference, never: [never.clean] },
  { path: `${clean8b}R32-20250612-163238`, first: shows.reference, never: [never.clean] },
  {
    path: `${parallel}DEBUG-model-parallel-LR2e-5-R32-BS2x8-20250617-112133`,
    first: shows.reference,
    never: [],
  },
  {
    path: `${parallel}pure-model-parallel-LR2e-5-R64-20250616-081316`,
    first: /(?:length|completions?).*(?:grew|grow|rose|longer|runs away)/i,
    never: [never.clean],
  },
  {
    path: 'hotpotqa/logs/grpo.log',
    first: /KL (?:is|of|rose|reached|grew|stands)|left the reference/i,
    never: [],
  },
  { path: 'medicalgpt', first: /too (?:short|little)/i, never: [never.clean] },
  { path: 'minimind', first: shows.still, never: [never.loss] },
  { path: 'widgetanchor', first: shows.noSignal, never: [] },
  { path: 'openenv-finale', first: /KL (?:is|jumped|rose).*(?:1 nat|nats)/, never: [/learnt|not learn/i] },
  {
    path: 'legaloom',
    first: /(?:length|completions?|tokens).*(?:short|fell|shrank|collaps|one answer)/i,
    never: [/task is learnt/i],
  },
  {
    path: 'unsloth-mistral-notebook',
    first: /format.*(?:never|0 in all)|never pay|never paid/i,
    never: [/(?<!xml)(?:int|correctness)_reward_func (?:never|is 0 in all)/i],
  },
  { path: 'wordle-tensorboard/1767712816', first: /explod|learning rate|KL.*(?:step|jump|rose)/i, never: [] },
  { path: 'wordle-tensorboard/1766164434', first: shows.noSignal, never: [] },
  { path: 'wordle-tensorboard/1767714698', first: shows.allCut, never: [/does not learn|not moved/i] },
];

const LITTLE = { outcome: 'too little to judge' };
const healthy = [
  { path: rho('0.10_seed44') },
  { path: rho('0.30_seed44') },
  { path: rho('0.50_seed42') },
  { path: rho('0.70_seed42') },
  { path: rho('3.00_seed42') },
  { path: rho('5.00_seed44') },
  { path: rho('2.00_seed42'), never: [never.sync] },
  { path: rho('1.00_seed44'), never: [/unlearn|forgets/i] },
  { path: 'wordle-tensorboard/1767883513', never: [never.void] },
  { path: 'xling-openrs', ...LITTLE },
  { path: 'hotpotqa/logs/grpo_v2.log' },
  { path: 'hotpotqa/logs/grpo_test.log', ...LITTLE, never: [/no reward/i] },
  { path: 'budget-router', never: [/took more than three/i] },
  { path: 'tinker-arithmetic/arithmetic_metrics.jsonl', never: [/entropy (?:fell|collaps)(?!.*learnt)/i] },
  { path: 'tinker-distillation-sft/distillation_off_metrics.jsonl', outcome: 'not GRPO' },
  { path: 'countdown-own-loop/outputs/grpo/metrics.jsonl', never: [/entropy collaps/i] },
  { path: 'verl-54-steps/logs/grpo_train.log', never: [/short/i, never.loss] },
  { path: 'verl-300-steps/logs/train_v3_reward.log', never: [/short/i, never.loss] },
  {
    path: 'logic-rl-verl/wandb/run-20250302_114336-m950nfkl/files/output.log',
    ...LITTLE,
    never: [/learning rate is 0/i],
  },
  { path: 'logic-rl-verl/wandb/run-20250302_115218-wntzruuo/run-wntzruuo.wandb', outcome: 'not a log' },
  { path: 'logic-rl-verl', ...LITTLE },
  { path: 'logic-rl-verl/log.log', outcome: 'not a log' },
  { path: 'fair-rlvr-wandb/wandb/run-20260511_073441-knrf4q0d', ...LITTLE },
  { path: 'blackjack-ppo/training_log.json', outcome: 'not GRPO' },
  { path: 'credit-eval-summary/training_log.json', outcome: 'not a log' },
];

/** Every entry, with its half by its place: odd places are A. */
export const diagnoses = [
  ...sick.map((one, i) => ({ ...one, sick: true, half: i % 2 === 0 ? 'A' : 'B' })),
  ...healthy.map((one, i) => ({ never: [], ...one, sick: false, half: i % 2 === 0 ? 'A' : 'B' })),
];
