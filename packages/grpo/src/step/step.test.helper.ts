/** A GRPO step on a fixture model, with as much of it fixed as a test wants. */
import { fileURLToPath } from 'node:url';
import { AdamW, type DType, noGrad, tensor, tidy } from '@grpo/torch';
import { expect, onTestFinished } from 'vitest';
import { resolveConfig } from '../config/index.js';
import { DEVICE } from '../device.test.helper.js';
import { uniform } from '../maths/random.js';
import { type Decoder, loadModel, type Model, OwningDecoder } from '../models/index.js';
import type { RewardTable } from '../rewards/index.js';
import type { Completion } from '../rollout/index.js';
import type { Problem, Task } from '../tasks/task.js';
import { Control } from './control.js';
import { grpoStep } from './grpo-step.js';
import { samplingOf } from './sampling.js';
import { type Stages, stages as standardStages } from './stages.js';
import type { Trainer } from './trainer.js';

export const PROBLEMS: Problem[] = ['the one', '2+2=', 'Why? Since the', 'a'].map((prompt, i) => {
  return { prompt, row: { i } };
});

const task: Task = {
  name: 'stub',
  train: PROBLEMS,
  eval: [],
  rewards: [],
  isCorrect: () => false,
  stop: [],
};

/** A model of `parity/fixtures`, whose weights are far from the usual initialisation; ready to train. */
export function fixtureModel(name: string, dtype: DType = 'float32'): Model {
  const url = new URL(`../../../../parity/fixtures/models/${name}`, import.meta.url);
  const model = loadModel(fileURLToPath(url), { dtype, device: DEVICE });
  for (const parameter of model.decoder.parameters.values()) parameter.requiresGrad = true;
  onTestFinished(() => model.decoder.dispose());
  return model;
}

/** A second decoder, a little away from the first. */
export function neighbour(decoder: Decoder): Decoder {
  const copy = decoder.clone();
  noGrad(() =>
    tidy(() => {
      for (const parameter of copy.parameters.values()) parameter.mul_(1.02);
    }),
  );
  onTestFinished(() => copy.dispose());
  return copy;
}

/** The same weights in float64, ready to train. */
export function wide({ config, parameters }: Decoder): OwningDecoder {
  const copies = [...parameters].map(([name, p]) => [name, noGrad(() => p.detach().to('float64'))] as const);
  for (const [, copy] of copies) copy.requiresGrad = true;
  const decoder = new OwningDecoder(config, new Map(copies));
  onTestFinished(() => decoder.dispose());
  return decoder;
}

/**
 * Holds gradients to the slope of the loss: along the gradient itself, and along others that no symmetry spares.
 *
 * @param trainer - of a decoder in float64, whose step changes no weight
 * @param distance - by which the weights are moved, as a norm
 */
export async function expectSlopes(
  trainer: Trainer,
  gradients: ReadonlyMap<string, Float32Array>,
  distance: number,
): Promise<void> {
  const { parameters } = trainer.model.decoder;
  const lossAt = async (scale: number, direction: ReadonlyMap<string, Float32Array>) => {
    const move = (by: number) =>
      noGrad(() =>
        tidy(() => {
          for (const [name, parameter] of parameters)
            parameter.add_(tensor(direction.get(name)!, parameter.shape).mul(by));
        }),
      );
    move(scale);
    const { loss } = await grpoStep(trainer, PROBLEMS, 0, 0);
    move(-scale);
    return loss;
  };
  for (const seed of [0, 1, 2]) {
    const direction = new Map(
      [...gradients].map(([name, g], k) => [name, seed === 0 ? g : g.map((x, i) => x * uniform(seed, k, i))]),
    );
    let [expected, norm] = [0, 0];
    for (const [name, d] of direction) {
      for (const [i, x] of d.entries()) {
        expected += x * gradients.get(name)![i]!;
        norm += x * x;
      }
    }
    const scale = distance / Math.sqrt(norm);
    const slope = ((await lossAt(scale, direction)) - (await lossAt(-scale, direction))) / (2 * scale);
    expect(Math.abs(slope / expected - 1)).toBeLessThan(1e-3);
  }
}

/** @param settings - `key=value`, as on the command line */
export function trainerOf(
  model: Model,
  settings: readonly string[],
  stages: Partial<Stages> = {},
  reference?: Decoder,
): Trainer {
  const { config } = resolveConfig({
    command: 'train',
    settings: ['task.name=arithmetic', 'rollout.maxNewTokens=10', 'rollout.group=4', ...settings],
  });
  const optimizer = new AdamW(model.decoder.trainable, config.optimizer);
  onTestFinished(() => optimizer.dispose());
  return {
    model,
    reference,
    task,
    optimizer,
    config,
    sampling: samplingOf(config, []),
    stages: { ...standardStages, ...stages },
    control: new Control(config),
  };
}

/** A score stage that gives completion b the reward `of(b)`; NaN for one that cannot be scored. */
export function rewarding(of: (b: number, completion: Completion) => number): Stages['score'] {
  return async (_task, _problems, groups) => {
    const values = Float64Array.from(groups.flat(), (completion, b) => of(b, completion));
    const table: RewardTable = {
      names: ['fixed'],
      weights: [1],
      columns: [values],
      unscored: Uint8Array.from(values, (value) => (Number.isNaN(value) ? 1 : 0)),
      failures: [],
    };
    return table;
  };
}

/** Rewards of groups of four that differ, but for the groups that `isFlat` names. */
export const flatWhere = (isFlat: (p: number) => boolean) =>
  rewarding((b) => (isFlat(Math.floor(b / 4)) ? 0.2 : Math.sin(3 * b)));

/** Rewards that differ within every group. */
export const spreadRewards = rewarding((b) => Math.sin(3 * b));

/** Random ids and log-probs around those of a uniform distribution: completions of exactly these lengths. */
export function madeUpCompletions(
  lengths: readonly (readonly number[])[],
  vocabulary: number,
): Completion[][] {
  return lengths.map((group, p) =>
    group.map((length, g) => {
      const ids = Array.from({ length }, (_, t) => Math.floor(uniform(1, p, g, t) * vocabulary));
      const logprobs = Float32Array.from(ids, () => -Math.log(vocabulary));
      return { ids, text: '', finishReason: 'stop', logprobs, sampledLogprobs: logprobs };
    }),
  );
}

/** An update stage that takes no step but hands over the gradients, by name; for float32 models. */
export function intoGradients(
  model: Model,
  take: (gradients: Map<string, Float32Array>) => void,
): Stages['update'] {
  return (optimizer) => {
    const { gradients } = optimizer;
    const names = [...model.decoder.parameters.keys()];
    take(new Map(names.map((name) => [name, gradients.get(name)!.toTypedArray() as Float32Array])));
    optimizer.zeroGrad();
    return { gradNorm: 1 };
  };
}

/** ‖a − b‖ / ‖b‖ over all tensors. */
export function relativeError(a: Map<string, Float32Array>, b: Map<string, Float32Array>): number {
  let difference = 0;
  let size = 0;
  for (const [name, values] of b) {
    const others = a.get(name)!;
    for (const [i, value] of values.entries()) {
      difference += (others[i]! - value) ** 2;
      size += value ** 2;
    }
  }
  return Math.sqrt(difference / size);
}

/** All weights, to be compared byte by byte. */
export const weightsOf = ({ parameters }: Decoder): [string, string][] =>
  [...parameters].map(([name, t]) => [name, Buffer.from(t.toBytes()).toString('base64')]);
