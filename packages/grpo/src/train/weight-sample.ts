import { type AdamW, keep, type Tensor, tidy } from '@grpo/torch';
import type { UpdateRecord } from '../trace/index.js';

/** Elements of each tensor that are looked at: enough for a share, and next to nothing of a step. */
const ELEMENTS = 2 ** 14;

/** Every n-th of the trained weights as they are, to tell what an update changes. */
export class WeightSample implements Disposable {
  readonly #before: { tensor: Tensor; isMaster: boolean; sample: Tensor }[] = [];

  constructor(optimizer: AdamW) {
    const add = (tensor: Tensor, isMaster: boolean) => {
      const sample = tidy(() => keep(sampleOf(tensor).clone()));
      this.#before.push({ tensor, isMaster, sample });
    };
    for (const { parameter, master } of optimizer.weights()) {
      add(master, true);
      if (parameter !== master) add(parameter, false);
    }
  }

  /** What has changed since; the norm is estimated from the sample. */
  changes(): Pick<UpdateRecord, 'changedShare' | 'changedWeightShare' | 'updateNorm'> {
    const total = { masters: 0, mastersChanged: 0, weights: 0, weightsChanged: 0, squares: 0 };
    for (const { tensor, isMaster, sample } of this.#before) {
      tidy(() => {
        const now = sampleOf(tensor);
        const changed = now.ne(sample).sum().item();
        const count = sample.size(0);
        total[isMaster ? 'masters' : 'weights'] += count;
        total[isMaster ? 'mastersChanged' : 'weightsChanged'] += changed;
        if (isMaster) total.squares += (now.sub(sample).pow(2).sum().item() * elementsOf(tensor)) / count;
      });
    }
    return {
      changedShare: total.mastersChanged / total.masters,
      ...(total.weights > 0 && { changedWeightShare: total.weightsChanged / total.weights }),
      updateNorm: Math.sqrt(total.squares),
    };
  }

  [Symbol.dispose](): void {
    for (const { sample } of this.#before) sample.dispose();
  }
}

const elementsOf = (tensor: Tensor) => tensor.shape.reduce((a, b) => a * b, 1);

/** A view of every n-th element, the first of each run of n. */
function sampleOf(tensor: Tensor): Tensor {
  const elements = elementsOf(tensor);
  const every = Math.max(1, Math.floor(elements / ELEMENTS));
  const count = Math.floor(elements / every);
  return tensor
    .detach()
    .reshape([elements])
    .narrow(0, 0, count * every)
    .reshape([count, every])
    .select(1, 0);
}
