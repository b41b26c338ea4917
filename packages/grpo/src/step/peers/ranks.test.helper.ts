/** Steps of one process, and of several. */
import { noGrad, type Tensor, tidy } from '@grpo/torch';
import type { Decoder, Model } from '../../models/index.js';
import type { Problem } from '../../tasks/task.js';
import { grpoStep } from '../grpo-step.js';
import type { StepObserver } from '../observer.js';
import type { Stages } from '../stages.js';
import { fixtureModel, trainerOf } from '../step.test.helper.js';
import type { Trainer } from '../trainer.js';
import { atOnce } from './local-peers.js';
import type { Peers } from './peers.js';

/** How some steps are taken. */
export interface RankedSteps {
  settings?: readonly string[];
  problems?: readonly Problem[];
  steps?: number;
  learningRate?: number;
  /** The model of a process; that of a fixture unless given. */
  model?: () => Model;
  reference?: () => Decoder;
  /** Stages of a process in place of the standard ones. */
  stages?: (peers: Peers | undefined) => Partial<Stages>;
  /** What else a process trains with. */
  trainer?: (trainer: Trainer) => Partial<Trainer>;
  /** What a process sees of its peers, in place of them. */
  peers?: (peers: Peers) => Peers;
}

/** What a process has after its steps. */
export interface RankedResult {
  /** Sampled ids, by step and completion. */
  ids: number[][][];
  advantages: number[][];
  losses: number[];
  gradNorms: number[];
  /** The gradient of the first update. */
  gradient: Map<string, Float32Array>;
  weights: Map<string, Float32Array>;
}

/** Takes steps with so many processes; one has no peers. */
export function takeSteps(size: number, given: RankedSteps = {}): Promise<RankedResult[]> {
  if (size === 1) return Promise.all([stepsOf(undefined, given)]);
  return atOnce(size, (peers) => stepsOf(given.peers?.(peers) ?? peers, given));
}

async function stepsOf(
  peers: Peers | undefined,
  { settings = [], problems = PROMPTS, steps = 1, learningRate = 1e-3, ...given }: RankedSteps,
): Promise<RankedResult> {
  const model = given.model?.() ?? fixtureModel('llama3');
  const own = ['rollout.invariant=true', 'optimizer.maxGradNorm=0', ...settings];
  const stages = { score: scoreByIds, update: descend, ...given.stages?.(peers) };
  const made = trainerOf(model, own, stages, given.reference?.());
  const gradients = new FirstGradient(made);
  const whole = { ...made, peers, observers: [gradients] };
  const trainer: Trainer = { ...whole, ...given.trainer?.(whole) };
  const result: Omit<RankedResult, 'gradient' | 'weights'> = {
    ids: [],
    advantages: [],
    losses: [],
    gradNorms: [],
  };
  for (let step = 0; step < steps; step++) {
    const { batch, loss, gradNorm } = await grpoStep(trainer, problems, step, learningRate);
    result.ids.push(batch.completions_B.map(({ ids }) => [...ids]));
    result.advantages.push([...batch.advantages.advantages]);
    result.losses.push(loss);
    result.gradNorms.push(gradNorm);
  }
  return { ...result, gradient: gradients.first!, weights: valuesOf(model.decoder.trainable) };
}

/** Keeps the gradient of the first update, as the optimizer steps with it. */
class FirstGradient implements StepObserver {
  first: Map<string, Float32Array> | undefined;

  constructor(private readonly trainer: Trainer) {}

  beforeUpdate(): void {
    this.first ??= valuesOf(this.trainer.optimizer.gradients);
  }
}

const valuesOf = (tensors: ReadonlyMap<string, Tensor>) =>
  new Map([...tensors].map(([name, tensor]) => [name, tensor.detach().toTypedArray() as Float32Array]));

/** Prompts of different lengths. */
export const PROMPTS: readonly Problem[] = ['the one', '2+2=', 'Why? Since the', 'a', 'b c d'].map(
  (prompt, i) => {
    return { prompt, row: { i } };
  },
);

/** Rewards that differ within each group, by the sampled ids: wherever they are computed they are the same. */
export const scoreByIds: Stages['score'] = async (_task, problems, groups) => {
  const values = groups.flatMap((group, p) =>
    group.map(({ ids }, g) =>
      Math.sin(ids.reduce((sum, id, t) => sum + id * (t + 1), 0) + 3 * g + placeOf(problems[p]!)),
    ),
  );
  return {
    names: ['by ids'],
    weights: [1],
    columns: [Float64Array.from(values)],
    unscored: new Uint8Array(values.length),
    failures: [],
  };
};

/** The place of a prompt in the data. */
export const placeOf = ({ row }: Problem): number => (row as { i: number }).i;

/** Plain gradient descent. */
export const descend: Stages['update'] = (optimizer, learningRate) => {
  const norms = optimizer.norms();
  noGrad(() =>
    tidy(() => {
      for (const { parameter, gradient } of optimizer.weights())
        if (gradient) parameter.add_(gradient, { alpha: -learningRate });
    }),
  );
  optimizer.zeroGrad();
  return norms;
};

/** ‖a − b‖ / ‖b‖ over all tensors. */
export function distance(a: ReadonlyMap<string, Float32Array>, b: ReadonlyMap<string, Float32Array>): number {
  let [difference, size] = [0, 0];
  for (const [name, values] of b) {
    for (const [i, value] of values.entries()) {
      difference += (a.get(name)![i]! - value) ** 2;
      size += value ** 2;
    }
  }
  return Math.sqrt(difference / size);
}
