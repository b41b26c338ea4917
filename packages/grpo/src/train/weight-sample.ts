import { type AdamW, keep, type Tensor, tidy } from '@grpo/torch';
import type { UpdateRecord } from '../trace/index.js';

/** Elements of each tensor that are looked at: enough for a share, and next to nothing of a step. */
const ELEMENTS = 2 ** 14;

/** A gradient that moves a weight: ten times what AdamW's usual ε of 1e-8 keeps down. */
const FELT = 1e-7;

/** Every n-th of the trained weights as they are, to tell what an update changes. */
export class WeightSample implements Disposable {
  readonly #before: { tensor: Tensor; sample: Tensor; felt: Tensor | null; isMaster: boolean }[] = [];

  constructor(optimizer: AdamW) {
    const add = (tensor: Tensor, isMaster: boolean, gradient: Tensor | null) => {
      const sample = tidy(() => keep(sampleOf(tensor).clone()));
      const felt = gradient && tidy(() => keep(sampleOf(gradient).abs().gt(FELT)));
      this.#before.push({ tensor, sample, felt, isMaster });
    };
    for (const { parameter, master, gradient } of optimizer.weights()) {
      add(master, true, gradient);
      if (parameter !== master) add(parameter, false, null);
    }
  }

  /** What has changed since; the norm is estimated from the sample. */
  changes(): Pick<UpdateRecord, 'changedShare' | 'changedWeightShare' | 'lostShare' | 'updateNorm'> {
    const total = {
      masters: 0,
      mastersChanged: 0,
      weights: 0,
      weightsChanged: 0,
      felt: 0,
      lost: 0,
      squares: 0,
    };
    for (const { tensor, isMaster, sample, felt } of this.#before) {
      tidy(() => {
        const now = sampleOf(tensor);
        const moved = now.ne(sample);
        const changed = moved.sum().item();
        if (felt) {
          total.felt += felt.sum().item();
          total.lost += felt.logicalAnd(moved.logicalNot()).sum().item();
        }
        const count = sample.size(0);
        total[isMaster ? 'masters' : 'weights'] += count;
        total[isMaster ? 'mastersChanged' : 'weightsChanged'] += changed;
        if (isMaster) total.squares += (now.sub(sample).pow(2).sum().item() * elementsOf(tensor)) / count;
      });
    }
    return {
      changedShare: total.mastersChanged / total.masters,
      ...(total.weights > 0 && { changedWeightShare: total.weightsChanged / total.weights }),
      ...(total.felt > 0 && { lostShare: total.lost / total.felt }),
      updateNorm: Math.sqrt(total.squares),
    };
  }

  [Symbol.dispose](): void {
    for (const { sample, felt } of this.#before) {
      sample.dispose();
      felt?.dispose();
    }
  }
}

const elementsOf = (tensor: Tensor) => tensor.shape.reduce((a, b) => a * b, 1);

/** A view of every n-th element, the first of each run of n: about as many as are wanted. */
export function sampleOf(tensor: Tensor, wanted = ELEMENTS): Tensor {
  const elements = elementsOf(tensor);
  const every = Math.max(1, Math.floor(elements / wanted));
  const count = Math.floor(elements / every);
  return tensor
    .detach()
    .reshape([elements])
    .narrow(0, 0, count * every)
    .reshape([count, every])
    .select(1, 0);
}
