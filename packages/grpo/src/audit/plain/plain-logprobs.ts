import { noGrad, type Tensor, tensor, tidy } from '@grpo/torch';
import { eachLogits, finalNorm, headOf, layerStates } from './plain-decoder.js';
import { type Drawn, drawnOf, type SamplingRules } from './plain-drawing.js';
import type { PlainModel } from './plain-model.js';

/** A completion with the prompt that it answers. */
export interface PlainSequence {
  prompt: readonly number[];
  completion: readonly number[];
}

/** The tokens of one completion under softmax(logits / temperature). */
export interface PlainScores {
  logprobs: Float32Array;
  /** In nats. */
  entropies: Float32Array;
  /** Under the distribution that is declared to be drawn from; where it was asked for. */
  drawn: Drawn[];
}

/** What a forward pass of a sequence takes: all tokens but the last, from which nothing is predicted. */
export const inputOf = ({ prompt, completion }: PlainSequence): number[] => [
  ...prompt,
  ...completion.slice(0, -1),
];

/** The rows of `[L, D]` that predict the tokens of the completion. */
export const predicting = (x: Tensor, { prompt, completion }: PlainSequence): Tensor =>
  x.narrow(0, prompt.length - 1, completion.length);

/** int64 `[n, 1]`. */
export const column = (ids: readonly number[], device: string): Tensor =>
  tensor([...ids], [ids.length, 1], { dtype: 'int64', device });

/**
 * Scores a completion.
 *
 * @param last - what the last layer gives for `inputOf` the sequence
 * @param head - the vocabulary projection in float32
 * @param temperature - divides the logits; 0 (greedy) scores at 1
 * @param rules - of the sampler
 */
export function plainScores(
  model: PlainModel,
  sequence: PlainSequence,
  last: Tensor,
  head: Tensor,
  temperature: number,
  rules?: SamplingRules,
): PlainScores {
  const { completion } = sequence;
  const scores: PlainScores = {
    logprobs: new Float32Array(completion.length),
    entropies: new Float32Array(completion.length),
    drawn: [],
  };
  noGrad(() =>
    tidy(() =>
      eachLogits(finalNorm(model).of(predicting(last, sequence)), head, (logits, start) => {
        const own = completion.slice(start, start + logits.size(0));
        const logprobs = logits.div(temperature === 0 ? 1 : temperature).logSoftmax(-1);
        const picked = logprobs.gather(1, column(own, logits.device));
        const entropies = logprobs.exp().mul(logprobs).sumDim([-1]).neg();
        scores.logprobs.set(picked.toTypedArray() as Float32Array, start);
        scores.entropies.set(entropies.toTypedArray() as Float32Array, start);
        if (rules) scores.drawn.push(...drawnOf(logits, completion, start, rules));
      }),
    ),
  );
  return scores;
}

/** The same from the model and the ids alone. */
export const scoreSequence = (
  model: PlainModel,
  sequence: PlainSequence,
  temperature: number,
  rules?: SamplingRules,
): PlainScores =>
  tidy(() => {
    const [states] = layerStates(model, [inputOf(sequence)]);
    return plainScores(model, sequence, states!.at(-1)!, headOf(model), temperature, rules);
  });
