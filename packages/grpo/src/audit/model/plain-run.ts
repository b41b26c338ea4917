import type { Tensor } from '@grpo/torch';
import type { Slopes } from '../../doctor/recompute/policy-slopes.js';
import type { SlopedPass } from '../plain/head-slopes.js';
import { layerStates } from '../plain/plain-decoder.js';
import type { SamplingRules } from '../plain/plain-drawing.js';
import { type PlainScores, plainScores } from '../plain/plain-logprobs.js';
import type { PlainModel } from '../plain/plain-model.js';
import {
  type PlainPass,
  type PlainSequence,
  passesOf,
  passSlopes,
  perSequence,
} from '../plain/plain-pass.js';

/** What the plain path makes of a completion. */
export interface PlainRun {
  passes: readonly PlainPass[];
  /** For each pass the inputs of all layers, then the output of the last. */
  states: readonly (readonly Tensor[])[];
  scores: PlainScores;
}

/** How the plain path scores sequences. */
export interface ScoreOptions {
  /** Divides the logits; 0 (greedy) scores at 1. */
  temperature: number;
  /** To be called between the parts. */
  tell(): void;
  /** The rules of the sampler that drew the tokens of a pass; nothing is said of draws where this is not given. */
  rulesOf?: ((pass: PlainPass) => SamplingRules) | undefined;
}

/** Runs the plain forward pass over completions, each alone, and keeps what a backward pass needs. */
export function runPlain(
  model: PlainModel,
  sequences: readonly PlainSequence[],
  { temperature, tell, rulesOf }: ScoreOptions,
): PlainRun[] {
  const passes = sequences.map((one) => passesOf(model, one));
  const inputs = passes.flat().map(({ input }) => input);
  const states = perSequence(passes, layerStates(model, inputs, tell));
  return sequences.map((one, i) => {
    tell();
    const last = states[i]!.map((layers) => layers.at(-1)!);
    const scores = plainScores(model, one, passes[i]!, last, temperature, rulesOf);
    return { passes: passes[i]!, states: states[i]!, scores };
  });
}

/** The passes of all sequences, with the slopes of a loss in the log-probs and entropies of each. */
export const slopedPasses = (sequences: readonly PlainRun[], slopes: readonly Slopes[]): SlopedPass[] =>
  sequences.flatMap(({ passes, states, scores }, i) => {
    const own = passSlopes(passes, slopes[i]!);
    return passes.map((pass, k) => ({
      ...pass,
      states: states[k]!,
      scores: scores.passes[k]!,
      slopes: own[k]!,
    }));
  });
