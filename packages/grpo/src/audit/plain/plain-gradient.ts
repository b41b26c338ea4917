/**
 * The gradient of a loss whose slopes in log-probs and entropies are known, layer by layer from the last to the first:
 * each layer is computed again from its kept input, and its tensors' gradients are handed over and freed before the next.
 */
import { grad, noGrad, type Tensor, tidy } from '@grpo/torch';
import { HeadSlopes, type SlopedPass } from './head-slopes.js';
import { embeddingFactor, finalNorm, outerNames } from './plain-decoder.js';
import { eachPart, partRows } from './plain-head.js';
import { layerSlopes, layerTensors } from './plain-layer.js';
import { column } from './plain-logprobs.js';
import type { PlainModel } from './plain-model.js';
import type { PlainTensors } from './plain-tensors.js';

/**
 * Takes the gradient of a tensor, float32, which is freed after the call; of a matrix as large as the vocabulary some rows
 * at a time, in order, from the one at `start` on.
 */
export type TakeGradient = (name: string, gradient: Tensor, start: number) => void;

/** A layer of the backward pass: its inputs and outputs in each pass, `[L, D]`, and the slopes of the loss. */
export interface LayerPass {
  layer: number;
  inputs: readonly Tensor[];
  outputs: readonly Tensor[];
  /** Slopes in the outputs. */
  slopes: readonly Tensor[];
  /** Slopes in the inputs. */
  before: readonly Tensor[];
  /** Gradients of the layer's trained tensors, by name. */
  gradients: ReadonlyMap<string, Tensor>;
}

/** The end of the model in the backward pass: slopes of the loss in what the last layer gives, `[L, D]` of each pass. */
export interface HeadPass {
  passes: readonly SlopedPass[];
  before: readonly Tensor[];
  /** Gradients of the final norm's trained tensors, by name. */
  gradients: ReadonlyMap<string, Tensor>;
}

/** Take each part of the model as the backward pass comes to it, before its tensors; all of it is freed after that. */
export interface TakeParts {
  head(pass: HeadPass): void;
  layer(pass: LayerPass): void;
}

/**
 * Hands over the gradient of every trained tensor: the adapters' where there are some, else of all weights. The
 * embedding's comes last.
 *
 * @param temperature - divides the logits; 0 (greedy) scores at 1
 * @param tell - called between its parts
 */
export function eachGradient(
  model: PlainModel,
  passes: readonly SlopedPass[],
  temperature: number,
  take: TakeGradient,
  tell = () => {},
  parts?: TakeParts,
): void {
  const names = outerNames(model);
  const isTrained = isTrainedIn(model);
  const takeAll = (gradients: ReadonlyMap<string, Tensor>) => {
    for (const [name, gradient] of gradients) take(name, gradient, 0);
  };
  const isTied = names.head === names.embedding;
  tidy(() => {
    const head = new HeadSlopes(model, passes, temperature);
    const takeHead = (gradient: () => Tensor, start: number) => {
      tell();
      if (isTrained(names.head) && !isTied) take(names.head, gradient(), start);
    };
    let slopes = tidy(() => {
      const back = headGradients(model, passes, head, takeHead);
      parts?.head({ passes, ...back });
      takeAll(back.gradients);
      return back.before;
    });
    for (let layer = passes[0]!.states.length - 2; layer >= 0; layer--) {
      tell();
      const [inputs, outputs] = [0, 1].map((at) => passes.map(({ states }) => states[layer + at]!));
      const next = tidy(() => {
        const back = layerGradients(model, layer, inputs!, slopes);
        parts?.layer({ layer, inputs: inputs!, outputs: outputs!, slopes, ...back });
        takeAll(back.gradients);
        return back.before;
      });
      for (const slope of slopes) slope.dispose();
      slopes = next;
    }
    if (!isTrained(names.embedding)) return;
    const factor = embeddingFactor(model);
    const scaled = factor === 1 ? slopes : slopes.map((slope) => slope.mul(factor));
    const takeRows = (
      name: string,
      ids: readonly (readonly number[])[],
      own: readonly Tensor[],
      first?: HeadSlopes,
    ) => {
      const weight = model.weights.get(name)!;
      const add = (gradient: Tensor, start: number) => {
        tell();
        addRows(gradient, start, ids, own);
        take(name, gradient, start);
      };
      if (first) first.eachGradient(add);
      else eachPart(weight, partRows(weight, 1), (part, start) => add(part.zerosLike(), start));
    };
    // A tied embedding has the gradient of the head as well, which is computed again rather than held.
    takeRows(
      names.embedding,
      passes.map(({ input }) => input),
      scaled,
      isTied ? head : undefined,
    );
    if (names.positions)
      takeRows(
        names.positions,
        passes.map(({ input }) => [...input.keys()]),
        slopes,
      );
  });
}

/**
 * Slopes in what the last layer gives in each pass, and in the final norm's tensors.
 *
 * @param take - is told how to compute the gradient of the rows of the projection from `start` on
 */
export function headGradients(
  model: PlainModel,
  passes: readonly SlopedPass[],
  head: HeadSlopes,
  take: (gradient: () => Tensor, start: number) => void = () => {},
): Omit<HeadPass, 'passes'> {
  const { tensors, of } = finalNorm(model);
  const last = passes.map(({ states }) => states.at(-1)!);
  return backThrough(tensors, isTrainedIn(model), last, head.backward(take), (x, leaves, slopes) =>
    grad([of(x)], leaves, [slopes]),
  );
}

/** Slopes in the inputs of a layer and in its tensors, from those in its outputs, `[L, D]` of each pass. */
export function layerGradients(
  model: PlainModel,
  layer: number,
  inputs: readonly Tensor[],
  slopes: readonly Tensor[],
): Pick<LayerPass, 'before' | 'gradients'> {
  const tensors = layerTensors(model, layer);
  return backThrough(tensors, isTrainedIn(model), inputs, slopes, (x, leaves, own) =>
    layerSlopes(tensors, layer, x, leaves, own),
  );
}

const isTrainedIn =
  ({ adapters, weights }: PlainModel) =>
  (name: string): boolean =>
    (adapters?.matrices ?? weights).has(name);

/**
 * Slopes in the inputs of a part of the model and in its tensors, from those in its outputs.
 *
 * @param back - slopes in the leaves, of which the input is the first
 */
function backThrough(
  tensors: PlainTensors,
  isTrained: (name: string) => boolean,
  inputs: readonly Tensor[],
  slopes: readonly Tensor[],
  back: (x: Tensor, leaves: readonly Tensor[], slopes: Tensor) => (Tensor | null)[],
): Pick<LayerPass, 'before' | 'gradients'> {
  const trained = [...tensors.all].filter(([name]) => isTrained(name));
  for (const [, leaf] of trained) leaf.requiresGrad = true;
  const gradients = new Map<string, Tensor>();
  const before = inputs.map((input, i) => {
    const x = input.detach();
    x.requiresGrad = true;
    // One sequence at a time: the graphs of all are the most that this takes.
    const [own, ...found] = tidy(() => back(x, [x, ...trained.map(([, leaf]) => leaf)], slopes[i]!));
    for (const [t, [name]] of trained.entries()) addTo(gradients, name, found[t]!);
    return own!;
  });
  return { before, gradients };
}

/** Adds the gradient of a tensor to the sum of those of all sequences. */
function addTo(sums: Map<string, Tensor>, name: string, gradient: Tensor | null): void {
  // None of the tensors of a part is without an effect.
  if (!gradient) throw new Error(`the plain loss does not depend on ${name}`);
  const sum = sums.get(name);
  if (!sum) {
    sums.set(name, gradient);
    return;
  }
  noGrad(() => sum.add_(gradient));
  gradient.dispose();
}

/** Adds to the row of each id the slope of its place, as far as `sum` has the row; its first is the one of id `start`. */
function addRows(
  sum: Tensor,
  start: number,
  ids: readonly (readonly number[])[],
  slopes: readonly Tensor[],
): void {
  noGrad(() =>
    tidy(() => {
      for (const [i, slope] of slopes.entries()) {
        const places = [...ids[i]!.keys()].filter((place) => {
          const row = ids[i]![place]! - start;
          return row >= 0 && row < sum.size(0);
        });
        if (places.length === 0) continue;
        const own = slope.indexSelect(0, column(places, slope.device).squeeze(1));
        const rows = places.map((place) => ids[i]![place]! - start);
        sum.scatterAdd_(0, column(rows, slope.device).expand([-1, slope.size(1)]), own);
      }
    }),
  );
}
