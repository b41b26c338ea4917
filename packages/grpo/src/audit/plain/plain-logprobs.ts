import { noGrad, type Tensor, tensor, tidy } from '@grpo/torch';
import { finalNorm, headOf, lastStates } from './plain-decoder.js';
import { type Drawn, drawnOf, type SamplingRules } from './plain-drawing.js';
import { eachLogits } from './plain-head.js';
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
  /** log Σ exp(logits / temperature). */
  masses: Float32Array;
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
 * @param temperature - divides the logits; 0 (greedy) scores at 1
 * @param rules - of the sampler
 */
export function plainScores(
  model: PlainModel,
  sequence: PlainSequence,
  last: Tensor,
  temperature: number,
  rules?: SamplingRules,
): PlainScores {
  const { completion } = sequence;
  const scores: PlainScores = {
    logprobs: new Float32Array(completion.length),
    entropies: new Float32Array(completion.length),
    masses: new Float32Array(completion.length),
    drawn: [],
  };
  noGrad(() =>
    tidy(() =>
      eachLogits(finalNorm(model).of(predicting(last, sequence)), headOf(model), (logits, start) => {
        const own = completion.slice(start, start + logits.size(0));
        const set = (values: Float32Array, of: Tensor) =>
          values.set(of.toTypedArray() as Float32Array, start);
        tidy(() => {
          const scaled = logits.div(temperature === 0 ? 1 : temperature);
          const mass = scaled.logsumexp([-1], true);
          const logprobs = scaled.sub(mass);
          set(scores.logprobs, logprobs.gather(1, column(own, logits.device)));
          set(scores.entropies, logprobs.exp().mul(logprobs).sumDim([-1]).neg());
          set(scores.masses, mass);
        });
        if (rules) scores.drawn.push(...drawnOf(logits, completion, start, rules));
      }),
    ),
  );
  return scores;
}

/** The same from the model and the ids alone, of several completions. */
export const scoreSequences = (
  model: PlainModel,
  sequences: readonly PlainSequence[],
  temperature: number,
): PlainScores[] =>
  tidy(() => {
    const last = lastStates(model, sequences.map(inputOf));
    return sequences.map((one, i) => plainScores(model, one, last[i]!, temperature));
  });
