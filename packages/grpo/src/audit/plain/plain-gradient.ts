/**
 * The gradient of a loss whose slopes in log-probs and entropies are known, layer by layer from the last to the first:
 * each layer is computed again from its kept input, and its tensors' gradients are handed over and freed before the next.
 */
import { grad, keep, noGrad, type Tensor, tensor, tidy, zeros } from '@grpo/torch';
import { eachLogits, finalNorm, headOf, outerNames } from './plain-decoder.js';
import { layerOutput, layerTensors } from './plain-layer.js';
import { column, inputOf, type PlainSequence, predicting } from './plain-logprobs.js';
import type { PlainModel } from './plain-model.js';
import type { PlainTensors } from './plain-tensors.js';
import type { Slopes } from './policy-slopes.js';

/** A completion with the states of its forward pass and the slopes of the loss. */
export interface SlopedSequence extends PlainSequence {
  /** What each layer took, and what the last gave. */
  states: readonly Tensor[];
  slopes: Slopes;
}

/** Takes the gradient of a tensor, float32, which is freed after the call. */
export type TakeGradient = (name: string, gradient: Tensor) => void;

/**
 * Hands over the gradient of every trained tensor: the adapters' where there are some, else of all weights. The
 * embedding's comes last.
 *
 * @param temperature - divides the logits; 0 (greedy) scores at 1
 */
export function eachGradient(
  model: PlainModel,
  sequences: readonly SlopedSequence[],
  temperature: number,
  take: TakeGradient,
): void {
  const names = outerNames(model);
  const isTrained = (name: string) => (model.adapters?.matrices ?? model.weights).has(name);
  tidy(() => {
    const weight = headOf(model);
    const head = isTrained(names.head) ? zeros([...weight.shape], deviceOf(model)) : undefined;
    let slopes = sequences.map((sequence) => headSlopes(model, sequence, temperature, weight, head));
    // In float32 it is the model's own memory.
    weight.dispose();
    if (head && names.head !== names.embedding) take(names.head, head);
    const norm = finalNorm(model);
    slopes = backThrough(
      norm.tensors,
      isTrained,
      take,
      sequences.map(({ states }) => states.at(-1)!),
      slopes,
      norm.of,
    );
    for (let layer = sequences[0]!.states.length - 2; layer >= 0; layer--) {
      const inputs = sequences.map(({ states }) => states[layer]!);
      const next = tidy(() => {
        const tensors = layerTensors(model, layer);
        return backThrough(tensors, isTrained, take, inputs, slopes, (x) => layerOutput(tensors, x));
      });
      for (const slope of slopes) slope.dispose();
      slopes = next;
    }
    if (!isTrained(names.embedding)) return;
    const tied = names.head === names.embedding ? head : undefined;
    const embedding = tied ?? zeros([...model.weights.get(names.embedding)!.shape], deviceOf(model));
    addRows(embedding, sequences.map(inputOf), slopes);
    take(names.embedding, embedding);
    if (!names.positions) return;
    const positions = zeros([...model.weights.get(names.positions)!.shape], deviceOf(model));
    addRows(
      positions,
      sequences.map((sequence) => [...inputOf(sequence).keys()]),
      slopes,
    );
    take(names.positions, positions);
  });
}

const deviceOf = ({ weights }: PlainModel) => ({ device: [...weights.values()][0]!.device });

/** Slopes in what the final norm gives, `[L, D]`; adds those in the vocabulary projection to `gradient`. */
function headSlopes(
  model: PlainModel,
  sequence: SlopedSequence,
  temperature: number,
  weight: Tensor,
  gradient: Tensor | undefined,
): Tensor {
  const { completion, states, slopes } = sequence;
  return noGrad(() =>
    tidy(() => {
      const last = states.at(-1)!;
      const normed = finalNorm(model).of(predicting(last, sequence));
      const all = zeros([...last.shape], deviceOf(model));
      const own = predicting(all, sequence);
      eachLogits(normed, weight, (logits, start) => {
        const rows = logits.size(0);
        const part = (values: Float64Array) =>
          tensor(Float32Array.from(values.subarray(start, start + rows)), [rows, 1], deviceOf(model));
        const logprobs = logits.div(temperature === 0 ? 1 : temperature).logSoftmax(-1);
        const p = logprobs.exp();
        // d log p(token) = onehot − p, d entropy = −p (log p + entropy).
        const [byLogprob, byEntropy] = [part(slopes.logprobs), part(slopes.entropies)];
        const entropy = p.mul(logprobs).sumDim([-1], true).neg();
        const slope = p
          .mul(byLogprob)
          .add(p.mul(logprobs.add(entropy)).mul(byEntropy))
          .neg()
          .scatterAdd_(1, column(completion.slice(start, start + rows), logits.device), byLogprob)
          .div(temperature === 0 ? 1 : temperature);
        own.narrow(0, start, rows).copy_(slope.matmul(weight));
        if (gradient) addProduct(gradient, slope, normed.narrow(0, start, rows));
      });
      return all;
    }),
  );
}

/** Rows of the vocabulary of which the product is made at once. */
const BLOCK = 2 ** 14;

/** Adds slopeᵀ × normed, `[V, D]`, which is as large as the embedding, block by block. */
function addProduct(sum: Tensor, slope: Tensor, normed: Tensor): void {
  for (let start = 0; start < sum.size(0); start += BLOCK) {
    const rows = Math.min(BLOCK, sum.size(0) - start);
    tidy(() => sum.narrow(0, start, rows).add_(slope.narrow(1, start, rows).t().matmul(normed)));
  }
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
      take(name, gradient);
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

/** Adds to the row of each id the slope of its place. */
function addRows(sum: Tensor, ids: readonly (readonly number[])[], slopes: readonly Tensor[]): void {
  noGrad(() =>
    tidy(() => {
      for (const [i, slope] of slopes.entries()) {
        const index = column(ids[i]!, slope.device).expand([-1, slope.size(1)]);
        sum.scatterAdd_(0, index, slope);
      }
    }),
  );
}
