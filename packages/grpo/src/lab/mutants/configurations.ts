/** The small runs that mutants are tried in: drawn, so that nobody chose which features meet which fault. */
import { permutation } from '../../maths/random.js';
import type { Task } from '../../tasks/task.js';
import { type LettersRow, lettersTask } from '../letters-task.js';

/** A run of `STEPS` steps on the lab's task. */
export interface Configuration {
  /** Its place in the draw, from 0. */
  index: number;
  /** `key=value`, as on the command line. */
  settings: readonly string[];
  task: () => Task<LettersRow>;
  /** The step after which the run is stopped and resumed; 0 for never. */
  resumeAfter: number;
}

export const STEPS = 20;

/** Configurations of a campaign: with fewer, a feature has no run of its own. */
export const CONFIGURATIONS = 12;

const SMALL = [
  ...['rollout.prompts=4', 'rollout.group=4', 'rollout.maxNewTokens=10', `train.steps=${STEPS}`],
  ...['device=cpu', 'eval.before=false', 'eval.samples=0', 'eval.limit=1', 'checkpoint.minutes=0'],
];

/** A choice of each feature goes into every configuration; equally often, as far as the numbers allow. */
const FEATURES: readonly (readonly (readonly string[])[])[] = [
  ['grpo', 'dapo', 'dr_grpo', 'bnpo', 'gspo', 'cispo'].map((loss) => [`objective.loss=${loss}`]),
  [
    [],
    [],
    ['objective.oldLogprobs=recompute', 'objective.iterations=2', 'objective.minibatches=2'],
    ['objective.oldLogprobs=sampler', 'objective.iterations=2'],
    ['objective.oldLogprobs=sampler', 'groups.replay=8'],
  ],
  [[], ['kl.beta=0.05'], ['kl.beta=0.05', 'kl.estimator=k2', 'kl.referenceEvery=6', 'kl.referenceMix=1'], []],
  [
    ['optimizer.learningRate=2e-3'],
    ['optimizer.learningRate=1e-3'],
    ['optimizer.learningRate=2e-2', 'lora.rank=4'],
  ],
  [[], ['rollout.topP=0.9'], ['rollout.temperature=0.7'], []],
  [
    [],
    ['optimizer.schedule=cosine', 'optimizer.warmupSteps=3'],
    ['optimizer.schedule=linear', 'optimizer.minLearningRate=1e-4'],
  ],
  [[], ['optimizer.weightDecay=0.1']],
  [[], ['optimizer.maxGradNorm=0.2']],
  [[], ['train.microBatchTokens=60']],
  [[], ['advantage.scale=batch'], ['advantage.scale=none']],
  [[], ['groups.refills=1'], []],
];

const TASKS: readonly (() => Task<LettersRow>)[] = [
  () => lettersTask(),
  () => lettersTask({ system: 'Put the letters in order.' }),
  () => lettersTask({ stop: ['.'] }),
];

/** The configurations of a campaign. */
export function configurationsOf(seed: number): Configuration[] {
  const turns = [...FEATURES, TASKS, [0, STEPS / 2]].map((choices, feature) => {
    const order = permutation(CONFIGURATIONS, seed, feature);
    return (index: number) => order[index]! % choices.length;
  });
  const [ofTask, ofResume] = turns.slice(-2) as [(index: number) => number, (index: number) => number];
  return Array.from({ length: CONFIGURATIONS }, (_, index) => ({
    index,
    settings: [...SMALL, ...FEATURES.flatMap((choices, feature) => choices[turns[feature]!(index)]!)],
    task: TASKS[ofTask(index)]!,
    resumeAfter: ofResume(index) === 1 ? STEPS / 2 : 0,
  }));
}
