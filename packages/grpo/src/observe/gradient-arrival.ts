import { grad, tidy } from '@grpo/torch';
import { largest } from '../maths/moments.js';
import type { SampledValues } from '../models/index.js';
import type { LossInput } from '../objective/index.js';
import type { MicroBatchPass } from '../step/observer.js';
import type { Trainer } from '../step/trainer.js';

/** A slope in the logits, times the tokens of the update, that is lost in the rounding of a float32 sum. */
const LOST = 1e-6;

/** Whether the gradient of each micro-batch of an update arrives in the sum that the optimizer steps with. */
export class GradientArrival {
  /** By rank. */
  readonly #gradients = new Map<number, SampledValues>();

  constructor(private readonly trainer: Pick<Trainer, 'stages'>) {}

  /** Whether a pass that is done has changed the gradients of its process, or had nothing to add to them. */
  arrived({ rank, input, gradients }: Pick<MicroBatchPass, 'rank' | 'input' | 'gradients'>): boolean {
    const before = this.#gradients.get(rank);
    const after = gradients();
    this.#gradients.set(rank, after);
    // Without gradients all are 0.
    const hasChanged = [...after].some(([name, values]) =>
      values.some((value, i) => !Object.is(value, before?.get(name)?.[i] ?? 0)),
    );
    return hasChanged || !this.#hasGradient(input);
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
      const slopes = grad([loss], leaves);
      const felt = leaves.flatMap((one, i) => {
        const values = one.toNumbers();
        // Logits move no log-prob of a token that is certain, no entropy and no KL that is 0.
        const reach = (t: number) => Math.min(1, Math.abs(values[t]!));
        return slopes[i]?.toNumbers().map((slope, t) => Math.abs(slope) * reach(t)) ?? [];
      });
      return largest(felt) * input.update.tokens > LOST;
    });
  }
}
