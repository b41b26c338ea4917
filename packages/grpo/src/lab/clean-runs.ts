/** Runs in which nothing is wrong: what the doctor says of them is a false alarm, unless it is explained. */
import { uniform } from '../maths/random.js';
import { cleanForms } from './clean-forms.js';
import { served } from './faults/server-faults.js';
import { atSeed, type CleanRun } from './lab-run.js';
import { lettersTask } from './letters-task.js';

const TRUNCATES = 'Top-p, top-k, min-p and penalties draw from another distribution than is trained.';

/** What is true of rewards that pay something else than the task asks for. */
const besideTheAnswer = (reason: string) =>
  Object.fromEntries(['B21.canary', 'B23.canary', 'B26.canary', 'B27.gold'].map((code) => [code, reason]));

/** Steps of a clean run, unless it says otherwise. */
const STEPS = 5;

const settings: Record<string, readonly string[]> = {
  dapo: [],
  grpo: ['objective.loss=grpo'],
  'grpo, β': ['objective.loss=grpo', 'kl.beta=0.05'],
  'dapo, β': ['kl.beta=0.1'],
  'old log-probs computed again': ['objective.oldLogprobs=recompute'],
  'old log-probs of the sampler': ['objective.oldLogprobs=sampler', 'objective.clipHigh=0.28'],
  'several passes': ['objective.oldLogprobs=sampler', 'objective.iterations=3', 'kl.beta=0.02'],
  'several updates a pass': [
    'objective.oldLogprobs=recompute',
    'objective.minibatches=2',
    'objective.iterations=2',
  ],
  'rewards scaled by batch': ['advantage.scale=batch'],
  'rewards not scaled': ['advantage.scale=none'],
  'small micro-batches': ['train.microBatchTokens=50', 'kl.beta=0.05'],
  'one completion a micro-batch': ['train.microBatchTokens=1', 'objective.loss=grpo'],
  'a small learning rate': ['optimizer.learningRate=1e-6', 'optimizer.warmupSteps=2'],
  'a falling learning rate': ['optimizer.schedule=cosine', 'optimizer.weightDecay=0.1'],
  'groups of 2': ['rollout.group=2', 'rollout.prompts=8'],
  'groups of 3': ['rollout.group=3'],
  'groups of 16': ['rollout.group=16', 'rollout.prompts=2'],
  'one prompt': ['rollout.prompts=1', 'rollout.group=8'],
  cold: ['rollout.temperature=0.6'],
  hot: ['rollout.temperature=1.3', 'kl.beta=0.05'],
  'much room': ['rollout.maxNewTokens=48', 'rollout.temperature=1.2'],
};

/** Truncated, and scored over the ids that were kept. */
const keeping: Record<string, readonly string[]> = {
  'top-p': ['rollout.topP=0.9', 'kl.beta=0.05'],
  'top-k': ['rollout.topK=8', 'objective.oldLogprobs=sampler', 'objective.iterations=2'],
  'min-p': ['rollout.minP=0.05', 'objective.oldLogprobs=recompute'],
};

const truncating: Record<string, readonly string[]> = {
  'top-p over all': ['rollout.topP=0.9', 'rollout.keepSupport=false'],
  'top-k over all': ['rollout.topK=8', 'rollout.keepSupport=false'],
  'min-p over all': ['rollout.minP=0.05', 'rollout.keepSupport=false'],
  penalties: ['rollout.presencePenalty=0.5', 'rollout.frequencyPenalty=0.2'],
  'repetition penalty': ['rollout.repetitionPenalty=1.2', 'rollout.temperature=0.9'],
  'least length': ['rollout.minNewTokens=3'],
};

/** Log-probs of kernels that round otherwise, by up to so many nats. */
function otherKernels(nats: number): { noise(): number } {
  let draws = 0;
  return { noise: () => 2 * nats * (uniform(11, draws++) - 0.5) };
}

const onServers = (): CleanRun[] => [
  { name: 'sampled on a server', ...served(otherKernels(2e-6)) },
  {
    name: 'sampled on a server, corrected for',
    ...served(otherKernels(2e-6), {
      settings: ['correction.level=token', 'correction.max=2', 'rollout.temperature=0.8'],
    }),
  },
  {
    name: 'sampled on a server in bfloat16',
    ...served(otherKernels(0.02), { policy: { dtype: 'bfloat16' } }),
  },
];

const tasks = (): CleanRun[] => [
  {
    name: 'a large learning rate',
    settings: ['optimizer.learningRate=3e-3', 'kl.beta=0.05'],
    explained: { 'B08.log': 'So large a rate lets completions run on.' },
  },
  {
    name: 'no room to end',
    settings: ['rollout.maxNewTokens=3'],
    explained: { 'B16.log': 'Three tokens are too few to end in.' },
  },
  { name: 'stop string', task: lettersTask({ stop: ['.'] }) },
  { name: 'system message', task: lettersTask({ system: 'Put the letters in order.' }) },
  { name: 'long and short prompts', task: lettersTask({ lengths: [2, 22, 3, 12] }) },
  {
    name: 'right or wrong',
    task: lettersTask({ rewards: { right: (completion, { answer }) => Number(completion === answer) } }),
  },
  {
    name: 'negative rewards',
    task: lettersTask({
      rewards: { brief: (completion) => -completion.length, ends: (c) => (c.endsWith('.') ? 0 : -3) },
    }),
    explained: besideTheAnswer('The reward pays brevity, not the answer.'),
  },
  {
    name: 'rewards without opinion',
    task: lettersTask({
      rewards: { right: (completion) => (completion.length % 3 === 0 ? null : completion.length / 7) },
    }),
    explained: {
      ...besideTheAnswer('The reward pays length, not the answer.'),
      'B08.log': 'The reward pays length, so more completions run to the limit.',
    },
  },
  {
    name: 'a reward that fails now and then',
    settings: ['onRewardError=drop'],
    task: lettersTask({
      rewards: {
        judge: (completion) => {
          if (completion.includes('h')) throw new Error('judge unreachable');
          return completion.length / 9;
        },
      },
    }),
    explained: {
      ...besideTheAnswer('The judge pays length, not the answer.'),
      'B22.canary': 'The judge does fail.',
      'B22.failures': 'The judge does fail.',
      'B22.log': 'The judge does fail.',
    },
  },
  { name: 'the end pads', policy: { padIsEnd: true } },
];

const policies = (['gpt2', 'llama', 'qwen2', 'qwen3'] as const).flatMap((family) =>
  (['float32', 'bfloat16'] as const).map(
    (dtype): CleanRun => ({
      name: `${family} in ${dtype}`,
      policy: { family, dtype },
      settings: ['kl.beta=0.05', 'objective.oldLogprobs=recompute', 'objective.iterations=2'],
    }),
  ),
);

const UNTAUGHT = {
  'B01.markup': 'Random weights take any token, special ones as well.',
  'B16.log': 'Random weights know no end.',
};

const PASSES = ['objective.oldLogprobs=recompute', 'objective.iterations=2', 'kl.beta=0.05'];

/** Settings of masked-diffusion models of random weights, which err more than they are right. */
const maskedRuns: Record<string, readonly string[]> = {
  d1: [],
  'd1 of what is filled at once': ['diffusion.steps=1', 'diffusion.promptMaskRate=0', 'kl.beta=0.05'],
  'd1 in blocks': ['diffusion.blockLength=5', 'diffusion.steps=7', ...PASSES],
  coupled: ['diffusion.estimator=coupled', ...PASSES],
  sum_masked: ['diffusion.estimator=sum_masked', ...PASSES, 'train.microBatchTokens=50'],
  'sum_masked by the sum': ['diffusion.estimator=sum_masked', 'objective.loss=reinforce_sum', 'kl.beta=0.05'],
  'random remasking': ['diffusion.remasking=random', 'objective.minibatches=2', ...PASSES],
};

/** All of them, at one seed. */
export function cleanRuns(seed = 0): CleanRun[] {
  const named = (table: Record<string, readonly string[]>, more: Partial<CleanRun> = {}): CleanRun[] =>
    Object.entries(table).map(([name, own]) => ({ name, settings: own, ...more }));
  const explained = Object.fromEntries(['B19.truncation', 'B19.surprise'].map((code) => [code, TRUNCATES]));
  const all = [
    ...named(settings),
    ...named(keeping),
    ...named(truncating, { explained }),
    ...tasks(),
    ...onServers(),
    ...policies,
    ...named(maskedRuns, { policy: { isMasked: true }, explained: UNTAUGHT }).map((run) => ({
      ...run,
      name: `masked diffusion, ${run.name}`,
    })),
  ];
  return [...all, ...cleanForms, learning].map((run) => atSeed({ steps: STEPS, ...run }, seed));
}

/** A run that learns its task: what is sick at its beginning is health at its end. */
const learning: CleanRun = {
  name: 'learning, 40 steps',
  steps: 40,
  settings: ['rollout.prompts=6'],
};
