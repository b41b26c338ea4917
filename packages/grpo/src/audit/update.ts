import { noGrad, type Tensor, tidy } from '@grpo/torch';
import { changedTensors, type SampledValues, sampledValues } from '../models/index.js';
import type { UpdateResult } from '../step/observer.js';
import type { Trainer } from '../step/trainer.js';
import { type Comparison, HELD_TENSOR } from '../trace/index.js';
import type { FollowingMeasure, Measured } from './context.js';
import { explainedUpdate, type Moved } from './explained-update.js';
import {
  type AdamWSettings,
  type Bounded,
  clipFactor,
  plainAdamW,
  ROUNDING,
  roundToBfloat16,
  WEIGHT_PARTS,
  type WeightPart,
} from './plain/plain-adamw.js';
import { plainRate } from './plain/plain-rate.js';
import { explained, type Hypothesis, type Pair, worstByQuantity, worstOf } from './worst.js';

const HAND_OVER = 'update';

const QUANTITIES: Record<WeightPart, string> = {
  weight: 'weight after the update',
  mean: 'first moment (mean of the gradients)',
  square: 'second moment (mean of the squared gradients)',
};

/** Tensors that are compared in a step that is not audited as a whole. */
const FEW = 3;

/** What the optimizer keeps of a tensor. */
const STATE = ['master', 'mean', 'square', 'step'] as const;

/** Elements that are converted to doubles at once. */
const CHUNK = 2 ** 20;

/** Some elements of what an update changes. */
interface Weights {
  /** By the optimizer's own names. */
  state: SampledValues;
  /** Those of the forward pass. */
  weights: SampledValues;
}

interface Before extends Weights {
  gradients: SampledValues;
  /** √Σ g² of each tensor, in doubles, and the length of its rows. */
  norms: ReadonlyMap<string, { norm: number; width: number }>;
  /** Updates of the run so far, by its own count. */
  updates: number;
}

/** What updates the weights, and by which settings. */
type Updated = Pick<Trainer, 'model' | 'optimizer' | 'config' | 'ownStages'> & {
  control: Pick<Trainer['control'], 'updates'>;
};

/** Computes each update of a step once more, from the declared settings, for some elements of every tensor. */
export class UpdateAudit implements FollowingMeasure {
  readonly #comparisons: Comparison[] = [];
  #step = 0;
  #frozen: SampledValues = new Map();
  #before: Before | undefined;

  /**
   * @param isWhole - whether all tensors are compared, and the norms of their gradients; a few tensors cost nothing beside
   * a step
   */
  constructor(
    private readonly trainer: Updated,
    private readonly isWhole = true,
  ) {}

  compared(_: unknown, step: number): void {
    this.#step = step;
    this.#frozen = this.#sampled(untrained(this.trainer));
    this.#add(HELD_TENSOR, heldTensors(this.trainer));
  }

  beforeUpdate(): void {
    const { gradients } = this.trainer.optimizer;
    this.#before = {
      ...this.#weights(),
      gradients: this.#sampled(gradients),
      norms: new Map(
        this.isWhole
          ? [...gradients].map(([name, own]) => [name, { norm: normOf(own), width: own.size(-1) }])
          : [],
      ),
      updates: this.trainer.control.updates,
    };
    this.#add('weight of the forward pass', comparedCopies(this.#before, this.trainer));
  }

  updated(result: UpdateResult): void {
    const { optimizer, config } = this.trainer;
    const before = this.#before!;
    const after = this.#weights();
    const rate = plainRate(config.optimizer, this.#step + 1, config.train.steps);
    // The optimizer counts each update, whatever the gradient is.
    const { size } = before.state;
    const isMade = size === 0 || changedTensors(before.state, after.state).length > 0;
    this.#add('update', [{ found: isMade ? 'made' : 'skipped: nothing changed', plain: 'made', bound: 0 }]);
    this.#add('learning rate', [
      // Of the peak: a cosine near its end is the difference of two numbers of that size.
      { found: result.learningRate, plain: rate, bound: 1e-12 * config.optimizer.learningRate },
    ]);
    if (this.isWhole) this.#add('norm of the gradient', comparedNorms(before, result));
    const scale = clipFactor(result.gradNorm, config.optimizer.maxGradNorm);
    const singleDecays = this.trainer.model.decoder.device.startsWith('cuda');
    const settings = { ...config.optimizer, singleDecays, learningRate: rate };
    const elements = computedElements(before, after, settings, scale);
    const isOff = (part: WeightPart) =>
      elements.some(({ found, plain }) => !(Math.abs(found[part] - plain[part].value) <= plain[part].bound));
    // The moments hold: the setting that moves the weights by them may be told.
    if (isOff('weight') && !isOff('mean') && !isOff('square')) {
      const told = explainedUpdate(elements.map(movedBy), before.updates + 1, settings);
      if (told) this.#add(told.quantity, [told.pair]);
    }
    function* others(part: WeightPart): Generator<Hypothesis> {
      for (const { what, ...other } of otherUpdates(settings, scale)) {
        const pairs = computedElements(before, after, other.settings, other.scale).map(pairOf(part));
        yield { what, pairs };
      }
    }
    for (const part of WEIGHT_PARTS) this.#add(QUANTITIES[part], elements.map(pairOf(part)), others(part));
    this.#add('number of updates that the optimizer counts', comparedCounts(after, before.updates + 1));
    this.#add('weight of the forward pass', comparedCopies(after, this.trainer));
    this.#add('tensors with a gradient after an update', [
      { found: optimizer.gradients.size, plain: 0, bound: 0 },
    ]);
  }

  /** A gradient that is not finite changes nothing. */
  failed(): void {
    const { state, weights } = this.#weights();
    const before = this.#before!;
    const changed = [...changedTensors(before.state, state), ...changedTensors(before.weights, weights)];
    this.#add('tensors that a gradient that is not finite changes', noneOf(changed));
  }

  done(): void {
    const changed = changedTensors(this.#frozen, this.#sampled(untrained(this.trainer)));
    this.#add('frozen tensors that change', noneOf(changed));
  }

  get measured(): Measured[] {
    if (!this.trainer.ownStages?.includes('update'))
      return [{ comparisons: worstByQuantity(this.#comparisons) }];
    return [
      { handOver: HAND_OVER, missing: 'the standard update: stages.update is your own' },
      // The tensors that it holds do not depend on who updates them.
      { comparisons: this.#comparisons.filter(({ quantity }) => quantity === HELD_TENSOR) },
    ];
  }

  #weights(): Weights {
    const { optimizer, model } = this.trainer;
    return { state: this.#sampled(optimizer.state()), weights: this.#sampled(model.decoder.trainable) };
  }

  /** Of all tensors, or of a few, which take turns. */
  #sampled(tensors: ReadonlyMap<string, Tensor>): SampledValues {
    if (this.isWhole) return sampledValues(tensors);
    const names = [...this.trainer.model.decoder.trainable.keys()];
    const own = Array.from({ length: FEW }, (_, i) => names[(this.#step * FEW + i) % names.length]!);
    const parts = own.flatMap((name) => [name, ...STATE.map((part) => `${name}.${part}`)]);
    return sampledValues(
      new Map(
        parts.flatMap((key) => {
          const tensor = tensors.get(key);
          return tensor ? [[key, tensor] as const] : [];
        }),
      ),
    );
  }

  #add(quantity: string, pairs: Iterable<Pair>, hypotheses: Iterable<Hypothesis> = []): void {
    const compared = worstOf(HAND_OVER, quantity, pairs);
    this.#comparisons.push(...compared.map((one) => explained(one, hypotheses)));
  }
}

/** Updates that differ in one thing from the declared one. */
const otherUpdates = (settings: AdamWSettings, scale: number) => [
  { what: 'gradients that are not clipped', settings, scale: 1 },
  { what: 'gradients that are clipped twice', settings, scale: scale ** 2 },
  { what: 'no gradient at all', settings, scale: 0 },
  {
    what: 'β1 and β2 in the place of each other',
    settings: { ...settings, beta1: settings.beta2, beta2: settings.beta1 },
    scale,
  },
];

/** Tensors of the model that it does not train: with adapters all weights. */
function untrained({ model: { decoder } }: Updated): ReadonlyMap<string, Tensor> {
  const trained = new Set(decoder.trainable.values());
  return new Map([...decoder.parameters].filter(([, tensor]) => !trained.has(tensor)));
}

/** Whether the optimizer holds the very tensors that the model trains. */
function heldTensors({ model, optimizer }: Updated): Pair[] {
  const { trainable } = model.decoder;
  const held = new Set([...optimizer.weights()].map(({ parameter }) => parameter));
  const names = [...optimizer.state().keys()].flatMap((key) => /^(.*)\.step$/.exec(key)?.[1] ?? []);
  const strangers = names.filter((name) => !trainable.has(name));
  const whyNot = (name: string, tensor: Tensor) => {
    if (!names.includes(name)) return 'missing';
    if (!held.has(tensor)) return 'another tensor of that name';
    return tensor.requiresGrad ? 'trained' : 'without gradients';
  };
  return [
    ...[...trainable].map(([name, tensor]) => ({
      found: whyNot(name, tensor),
      plain: 'trained',
      bound: 0,
      tensor: name,
    })),
    ...strangers.map((tensor) => ({ found: 'held', plain: 'not of the model', bound: 0, tensor })),
  ];
}

/** The norm of the whole gradient and those of its tensors, as the update reports them. */
function comparedNorms({ norms }: Before, { gradNorm, gradNorms }: UpdateResult): Pair[] {
  // Each addition of a row's squares rounds their sum, of which the norm is the root.
  const shareOf = (width: number) => ROUNDING * (2 + width / 2);
  const all = [...norms.values()];
  const whole = Math.hypot(...all.map(({ norm }) => norm));
  const widest = Math.max(0, ...all.map(({ width }) => width));
  return [
    { found: gradNorm, plain: whole, bound: shareOf(widest) * whole },
    ...[...norms].flatMap(([tensor, { norm, width }]) => {
      const found = gradNorms?.get(tensor);
      return found === undefined ? [] : [{ found, plain: norm, bound: shareOf(width) * norm, tensor }];
    }),
  ];
}

/** A sampled element: its weight before the update, what the update left of it, and what the settings give. */
interface Element {
  tensor: string;
  before: number;
  found: Record<WeightPart, number>;
  plain: Record<WeightPart, Bounded>;
}

function computedElements(
  { state, weights, gradients, updates }: Before,
  after: Weights,
  settings: AdamWSettings,
  scale: number,
): Element[] {
  const elements: Element[] = [];
  for (const tensor of weights.keys()) {
    const [before, found] = [{ state, weights }, after].map((from) => ({
      weight: (from.state.get(`${tensor}.master`) ?? from.weights.get(tensor))!,
      mean: from.state.get(`${tensor}.mean`),
      square: from.state.get(`${tensor}.square`),
    })) as [Record<WeightPart, Float32Array>, Record<WeightPart, Float32Array>];
    // What the optimizer does not hold is told by name.
    if (!before.mean || !found.mean) continue;
    const gradient = gradients.get(tensor);
    const at = (of: typeof found, i: number) => ({
      weight: of.weight[i]!,
      mean: of.mean[i]!,
      square: of.square[i]!,
    });
    for (const i of before.weight.keys()) {
      const own = at(before, i);
      const plain = plainAdamW(own, scale * (gradient?.[i] ?? 0), updates + 1, settings);
      elements.push({ tensor, before: own.weight, found: at(found, i), plain });
    }
  }
  return elements;
}

const pairOf =
  (part: WeightPart) =>
  ({ tensor, found, plain: { [part]: plain } }: Element): Pair => ({
    found: found[part],
    plain: plain.value,
    bound: plain.bound,
    tensor,
  });

const movedBy = ({ before, found: { weight: found, ...moments }, plain }: Element): Moved => ({
  before,
  found,
  plain: plain.weight.value,
  bound: plain.weight.bound,
  ...moments,
});

/** The updates that each tensor has had, by the optimizer, and the number of them in the run. */
const comparedCounts = ({ state }: Weights, updates: number): Pair[] =>
  [...state].flatMap(([key, [found]]) => {
    const tensor = /^(.*)\.step$/.exec(key)?.[1];
    return tensor === undefined ? [] : [{ found: found!, plain: updates, bound: 0, tensor }];
  });

/** Weights of half precision are their float32 masters, rounded. */
function* comparedCopies({ state, weights }: Weights, { model }: Updated): Generator<Pair> {
  for (const [tensor, values] of weights) {
    const masters = state.get(`${tensor}.master`);
    if (!masters || model.decoder.trainable.get(tensor)!.dtype !== 'bfloat16') continue;
    for (const [i, found] of values.entries())
      yield { found, plain: roundToBfloat16(masters[i]!), bound: 0, tensor };
  }
}

const noneOf = (changed: readonly string[]): Pair[] => [
  { found: changed.length, plain: 0, bound: 0, ...(changed[0] !== undefined && { tensor: changed[0] }) },
];

/** √Σ x², in doubles. */
function normOf(x: Tensor): number {
  const { numel } = x;
  const sumFrom = (at: number) =>
    tidy(() => {
      const part = x
        .reshape([numel])
        .narrow(0, at, Math.min(CHUNK, numel - at))
        .to('float64');
      return part.mul(part).sum().item();
    });
  let sum = 0;
  noGrad(() => {
    for (let at = 0; at < numel; at += CHUNK) sum += sumFrom(at);
  });
  return Math.sqrt(sum);
}
