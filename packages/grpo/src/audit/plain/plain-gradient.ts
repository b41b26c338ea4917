/**
 * The gradient of a loss whose slopes in log-probs and entropies are known, layer by layer from the last to the first:
 * each layer is computed again from its kept input, and its tensors' gradients are handed over and freed before the next.
 */
import { grad, keep, noGrad, type Tensor, tidy } from '@grpo/torch';
import { HeadSlopes, type SlopedPass } from './head-slopes.js';
import { embeddingFactor, finalNorm, outerNames } from './plain-decoder.js';
import { eachPart, partRows } from './plain-head.js';
import { layerOutput, layerTensors } from './plain-layer.js';
import { column } from './plain-logprobs.js';
import type { PlainModel } from './plain-model.js';
import type { PlainTensors } from './plain-tensors.js';

/**
 * Takes the gradient of a tensor, float32, which is freed after the call; of a matrix as large as the vocabulary some rows
 * at a time, in order, from the one at `start` on.
 */
export type TakeGradient = (name: string, gradient: Tensor, start: number) => void;

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
): void {
  const names = outerNames(model);
  const isTrained = (name: string) => (model.adapters?.matrices ?? model.weights).has(name);
  const isTied = names.head === names.embedding;
  tidy(() => {
    const head = new HeadSlopes(model, passes, temperature);
    const takeHead = (gradient: () => Tensor, start: number) => {
      tell();
      if (isTrained(names.head) && !isTied) take(names.head, gradient(), start);
    };
    const norm = finalNorm(model);
    let slopes = backThrough(
      norm.tensors,
      isTrained,
      take,
      passes.map(({ states }) => states.at(-1)!),
      head.backward(takeHead),
      norm.of,
    );
    for (let layer = passes[0]!.states.length - 2; layer >= 0; layer--) {
      tell();
      const inputs = passes.map(({ states }) => states[layer]!);
      const next = tidy(() => {
        const tensors = layerTensors(model, layer);
        return backThrough(tensors, isTrained, take, inputs, slopes, (x) => layerOutput(tensors, layer, x));
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

/** Slopes in the inputs of a part of the model from those in its outputs; hands over those in its tensors. */
function backThrough(
  tensors: PlainTensors,
  isTrained: (name: string) => boolean,
  take: TakeGradient,
  inputs: readonly Tensor[],
  slopes: readonly Tensor[],
  output: (x: Tensor) => Tensor,
): Tensor[] {
  return tidy(() => {
    const trained = [...tensors.all].filter(([name]) => isTrained(name));
    for (const [, leaf] of trained) leaf.requiresGrad = true;
    const sums = new Map<string, Tensor>();
    const before = inputs.map((input, i) => {
      const x = input.detach();
      x.requiresGrad = true;
      // One sequence at a time: the graphs of all are the most that this takes.
      return tidy(() => {
        const [own, ...gradients] = grad([output(x)], [x, ...trained.map(([, leaf]) => leaf)], [slopes[i]!]);
        for (const [t, [name]] of trained.entries()) addTo(sums, name, gradients[t]!);
        return own!;
      });
    });
    for (const [name, gradient] of sums) {
      take(name, gradient, 0);
      gradient.dispose();
    }
    return before;
  });
}

/** Adds the gradient of a tensor to the sum of those of all sequences. */
function addTo(sums: Map<string, Tensor>, name: string, gradient: Tensor | null): void {
  // None of the tensors of a part is without an effect.
  if (!gradient) throw new Error(`the plain loss does not depend on ${name}`);
  const sum = sums.get(name);
  if (sum) noGrad(() => sum.add_(gradient));
  else sums.set(name, keep(gradient));
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
