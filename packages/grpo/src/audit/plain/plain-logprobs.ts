import { noGrad, type Tensor, tensor, tidy, where } from '@grpo/torch';
import { finalNorm, headOf, lastStates } from './plain-decoder.js';
import { type Drawn, drawnOf, type SamplingRules } from './plain-drawing.js';
import { eachLogits } from './plain-head.js';
import type { PlainModel } from './plain-model.js';
import { countPasses, type PlainPass, type PlainSequence, passesOf, perSequence } from './plain-pass.js';
import { insideOf, type Support } from './plain-support.js';

/** The tokens that a pass scores, under softmax(logits / temperature) over their support. */
export interface PassScores {
  logprobs: Float32Array;
  /** In nats. */
  entropies: Float32Array;
  /** log Σ exp(logits / temperature). */
  masses: Float32Array;
  /** Log-probs over the whole vocabulary. */
  whole: Float32Array;
}

/** The tokens of one completion: the weighted sums of their log-probs, the means of their entropies. */
export interface PlainScores extends Pick<PassScores, 'logprobs' | 'entropies' | 'whole'> {
  passes: readonly PassScores[];
  /** Under the distribution that is declared to be drawn from; where it was asked for. */
  drawn: Drawn[];
}

/** The rows of `[L, D]` that predict the tokens of a pass. */
export const predicting = (x: Tensor, { rows }: PlainPass): Tensor =>
  x.indexSelect(0, column(rows, x.device).squeeze(1));

/** int64 `[n, 1]`. */
export const column = (ids: readonly number[], device: string): Tensor =>
  tensor([...ids], [ids.length, 1], { dtype: 'int64', device });

/**
 * Scores a completion.
 *
 * @param passes - those of the completion
 * @param last - what the last layer gives for each
 * @param temperature - divides the logits; 0 (greedy) scores at 1
 * @param rulesOf - of the sampler that drew the tokens of a pass
 */
export function plainScores(
  model: PlainModel,
  { completion, support }: Pick<PlainSequence, 'completion' | 'support'>,
  passes: readonly PlainPass[],
  last: readonly Tensor[],
  temperature: number,
  rulesOf?: (pass: PlainPass) => SamplingRules,
): PlainScores {
  const drawn: Drawn[] = [];
  const scored = passes.map((pass, i) =>
    passScores(model, pass, last[i]!, temperature, (logits, start) => {
      if (rulesOf) drawn.push(...drawnOf(logits, pass.targets, start, rulesOf(pass), support));
    }),
  );
  const none = () => new Float32Array(completion.length);
  const [logprobs, entropies, whole] = [none(), none(), none()];
  const counts = countPasses(passes, completion.length);
  for (const [i, { tokens, weight }] of passes.entries()) {
    for (const [m, t] of tokens.entries()) {
      logprobs[t]! += weight * scored[i]!.logprobs[m]!;
      whole[t]! += weight * scored[i]!.whole[m]!;
      entropies[t]! += scored[i]!.entropies[m]! / counts[t]!;
    }
  }
  return { logprobs, entropies, whole, passes: scored, drawn };
}

/**
 * Scores the tokens of a pass.
 *
 * @param last - what the last layer gives
 * @param watch - sees the logits, some rows at a time, and the number of the first of these
 */
export function passScores(
  model: PlainModel,
  pass: PlainPass,
  last: Tensor,
  temperature: number,
  watch: (logits: Tensor, start: number) => void = () => {},
): PassScores {
  const { targets, support } = pass;
  const scores = {
    logprobs: new Float32Array(targets.length),
    entropies: new Float32Array(targets.length),
    masses: new Float32Array(targets.length),
    whole: new Float32Array(targets.length),
  };
  noGrad(() =>
    tidy(() =>
      eachLogits(finalNorm(model).of(predicting(last, pass)), headOf(model), (logits, start) => {
        const own = targets.slice(start, start + logits.size(0));
        const set = (values: Float32Array, of: Tensor) =>
          values.set(of.toTypedArray() as Float32Array, start);
        tidy(() => {
          const scaled = logits.div(temperature === 0 ? 1 : temperature);
          const token = scaled.gather(1, column(own, logits.device));
          const all = scaled.logsumexp([-1], true);
          set(scores.whole, token.sub(all));
          const { mass, entropy } = over(scaled, all, support?.slice(start, start + own.length));
          set(scores.logprobs, token.sub(mass));
          set(scores.entropies, entropy);
          set(scores.masses, mass);
        });
        watch(logits, start);
      }),
    ),
  );
  return scores;
}

/** Log of the sum, `[n, 1]`, and entropy, `[n]`, of the distribution over the support of each row. */
function over(scaled: Tensor, all: Tensor, support?: Support): { mass: Tensor; entropy: Tensor } {
  const inside = support && insideOf(support, 0, scaled.size(1), scaled.device);
  const mass = inside ? where(inside.gt(0), scaled, Number.NEGATIVE_INFINITY).logsumexp([-1], true) : all;
  const logprobs = scaled.sub(mass);
  const terms = logprobs.exp().mul(logprobs);
  const entropy = (inside ? terms.mul(inside) : terms).sumDim([-1]).neg();
  return { mass, entropy };
}

/** The same from the model and the ids alone, of several completions; `tell` is called between its parts. */
export const scoreSequences = (
  model: PlainModel,
  sequences: readonly PlainSequence[],
  temperature: number,
  tell = () => {},
  rulesOf?: (pass: PlainPass) => SamplingRules,
): PlainScores[] =>
  tidy(() => {
    const passes = sequences.map((one) => passesOf(model, one));
    const states = lastStates(
      model,
      passes.flat().map(({ input }) => input),
      tell,
    );
    const last = perSequence(passes, states);
    return sequences.map((one, i) => {
      tell();
      return plainScores(model, one, passes[i]!, last[i]!, temperature, rulesOf);
    });
  });
