import { cat, grad, noGrad, tidy } from '@grpo/torch';
import { largest } from '../maths/moments.js';
import { sampleOf } from '../models/index.js';
import type { LossInput } from '../objective/index.js';
import type { MicroBatchPass } from '../step/observer.js';
import type { Trainer } from '../step/trainer.js';

/** Elements of each tensor's gradient that are looked at: a pass that arrives changes almost all of them. */
const ELEMENTS = 64;

/** A gradient of a log-prob, times the tokens of the update, that is lost in the rounding of a float32 sum. */
const LOST = 1e-6;

/** Whether the gradient of each micro-batch of an update arrives in the sum that the optimizer steps with. */
export class GradientArrival {
  #sum: readonly number[] = [];

  constructor(private readonly trainer: Pick<Trainer, 'optimizer' | 'stages'>) {}

  /** Whether a pass that is done has changed the sum, or had nothing to add to it. */
  arrived({ input }: Pick<MicroBatchPass, 'input'>): boolean {
    const before = this.#sum;
    this.#sum = this.#sample();
    const isUnchanged = this.#sum.every((value, i) => Object.is(value, before[i] ?? 0));
    return !isUnchanged || !this.#hasGradient(input);
  }

  #sample(): number[] {
    return noGrad(() =>
      tidy(() => {
        const gradients = [...this.trainer.optimizer.gradients.values()];
        return gradients.length === 0 ? [] : cat(gradients.map((one) => sampleOf(one, ELEMENTS))).toNumbers();
      }),
    );
  }

  /** Whether the loss depends on what the model computes: asked only of a pass that changed nothing. */
  #hasGradient(input: LossInput): boolean {
    return tidy(() => {
      const leaf = (values: LossInput['logprobs_T']) => {
        const own = values.detach();
        own.requiresGrad = true;
        return own;
      };
      const [logprobs_T, entropies_T] = [leaf(input.logprobs_T), leaf(input.entropies_T)];
      const fullKl_T = input.fullKl_T && leaf(input.fullKl_T);
      const { loss } = this.trainer.stages.objective({ ...input, logprobs_T, entropies_T, fullKl_T });
      if (!loss.requiresGrad) return false;
      const leaves = [logprobs_T, entropies_T, ...(fullKl_T ? [fullKl_T] : [])];
      const gradients = grad([loss], leaves).flatMap((one) => one?.toNumbers() ?? []);
      return largest(gradients.map(Math.abs)) * input.update.tokens > LOST;
    });
  }
}
