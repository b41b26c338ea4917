import { keys } from './keys.js';

/** A command that takes settings. */
export type ConfigCommand =
  | 'train'
  | 'sft'
  | 'expert'
  | 'eval'
  | 'generate'
  | 'serve'
  | 'explain'
  | 'data check'
  | 'reward check'
  | 'demo';

const MODEL = ['preset', 'model', 'seed', 'device', 'dtype', 'threads', 'memory'];
/** Keys of servers, which sample for runs that train by what they sample. */
const SERVERS = ['engine', 'urls', 'apiKeyEnv', 'timeoutSeconds', 'weightsFolder'].map(
  (key) => `rollout.${key}`,
);
/** For what is trained by ratios of the sampled tokens. */
const SUPPORT = 'rollout.keepSupport';
const DENOISE = ['diffusion.blockLength', 'diffusion.steps', 'diffusion.remasking'];
const DECODE = [
  ...keys
    .filter((key) => key.section === 'rollout' && !/\.(prompts|group|temperature)$/.test(key.path))
    .map((key) => key.path)
    .filter((path) => !SERVERS.includes(path) && path !== SUPPORT),
  ...DENOISE,
];

/** Keys that training with GRPO reads, whatever the task and the machine. */
const TRAINING = [
  'onRewardError',
  'rollout',
  'diffusion',
  'groups',
  'objective',
  'advantage',
  'kl',
  'teacher',
  'entropy',
  'correction',
  'optimizer',
  'train',
  'eval',
  'checkpoint',
  'record',
  'doctor',
];

/** Keys, or whole sections, that each command reads; `!` takes one out again. */
const READS: Record<ConfigCommand, readonly string[]> = {
  train: [...MODEL, 'output', 'task', 'rewards', 'lora', 'sinks', 'processes', ...TRAINING],
  explain: ['preset', 'seed', 'dtype', ...TRAINING],
  sft: [
    ...MODEL,
    'output',
    'task',
    'rewards',
    'onRewardError',
    'sft',
    'lora',
    'optimizer',
    '!optimizer.learningRate',
    'train.microBatchTokens',
    'train.recompute',
    ...DECODE,
    'eval',
    'checkpoint',
    'doctor',
    'sinks',
  ],
  expert: [
    ...MODEL,
    'output',
    'task',
    'rewards',
    'onRewardError',
    'rollout',
    `!${SUPPORT}`,
    ...DENOISE,
    'groups.overlongBuffer',
    'expert',
    'sft.batchSize',
    'sft.learningRate',
    'lora',
    'optimizer',
    '!optimizer.learningRate',
    'train.microBatchTokens',
    'train.recompute',
    'eval',
    'checkpoint',
    'doctor',
    'sinks',
  ],
  eval: [
    ...MODEL,
    'lora.adapter',
    'task',
    'rewards',
    ...DECODE,
    'eval',
    ...['!eval.every', '!eval.stopAt', '!eval.before'],
  ],
  generate: [...MODEL, 'lora.adapter', 'task.system', 'task.stop', ...DECODE, 'rollout.temperature'],
  serve: ['device', 'dtype', 'threads', 'memory'],
  'data check': [
    'model',
    ...['name', 'data', 'evalData', 'grading', 'prompt', 'system', 'questionKey', 'answerKey'].map(
      (key) => `task.${key}`,
    ),
    'rollout.maxNewTokens',
  ],
  'reward check': [
    'model',
    'seed',
    'device',
    'dtype',
    'task',
    '!task.stop',
    'rewards',
    'train.microBatchTokens',
  ],
  demo: ['seed', 'device', 'threads', 'output'],
};

/** Whether a command reads a key. Help lists these keys, and `key=value` accepts no others. */
export function readsKey(command: ConfigCommand, path: string): boolean {
  const reads = READS[command];
  const section = path.split('.')[0]!;
  return !reads.includes(`!${path}`) && (reads.includes(path) || reads.includes(section));
}
