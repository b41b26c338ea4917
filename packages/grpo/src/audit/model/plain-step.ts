import type { Tensor } from '@grpo/torch';
import type { Slopes } from '../../doctor/recompute/policy-slopes.js';
import type { TokenSets } from '../../formats/token-sets.js';
import type { Trainer } from '../../step/trainer.js';
import { declaredOf } from '../../trace/declared-of.js';
import type { Declared } from '../../trace/index.js';
import type { AuditContext } from '../context.js';
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
import { rawModel } from './raw-model.js';
import { toleranceOf } from './tolerance.js';

/** What the plain path makes of a completion. */
export interface PlainRun {
  passes: readonly PlainPass[];
  /** For each pass the inputs of all layers, then the output of the last. */
  states: readonly (readonly Tensor[])[];
  scores: PlainScores;
}

/** A completion that is computed again. */
export interface PlainCompletion extends PlainSequence, PlainRun {
  /** Its place among the completions of the step. */
  place: number;
  /** Whether the weights of this step sampled it. */
  isOwn: boolean;
}

/** What the plain path has of a step before its first update. */
export interface PlainStep {
  declared: Declared;
  model: PlainModel;
  completions: readonly PlainCompletion[];
}

/** The declared rules of a run's sampler. */
export const samplingRules = ({ model, config }: Pick<Trainer, 'model' | 'config'>): SamplingRules => ({
  ...config.rollout,
  endIds: [...model.endIds],
  margin: toleranceOf(model.decoder.dtype).all,
});

const setsOf = (sets: TokenSets | undefined) =>
  sets && Array.from({ length: sets.length }, (_, t) => sets.ids(t));

/** Runs the plain forward pass of the chosen completions, each alone, as they were sampled. */
export function plainStep({ trainer, batch, chosen, tell }: AuditContext): PlainStep {
  const { config, ownStages } = trainer;
  const declared = { ...declaredOf(config), ...(ownStages && { ownStages: [...ownStages] }) };
  const model = rawModel(trainer.model, trainer.model.decoder, config);
  const rules = samplingRules(trainer);
  const [iteration] = batch.iterations;
  const sequences = chosen.map((place) => ({
    place,
    prompt: batch.prompts[batch.problemOf(place)]!.ids,
    completion: batch.completions_B[place]!.ids,
    support: setsOf(batch.completions_B[place]!.support),
    masked: iteration?.masked_B?.[place],
  }));
  const own = runPlain(model, sequences, {
    temperature: config.rollout.temperature,
    tell,
    rulesOf: (one) => (one.masked ? undefined : () => rules),
  });
  const completions = sequences.map((one, i): PlainCompletion => {
    const isOwn = !batch.exchange?.replayed.has(batch.problemOf(one.place));
    return { ...one, ...own[i]!, isOwn };
  });
  return { declared, model, completions };
}

/** Runs the plain forward pass over completions, each alone, and keeps what a backward pass needs. */
export function runPlain(
  model: PlainModel,
  sequences: readonly PlainSequence[],
  {
    temperature,
    tell,
    rulesOf,
  }: {
    temperature: number;
    tell(): void;
    /** Of the sampler that drew a completion, for its passes. */
    rulesOf?(one: PlainSequence): ((pass: PlainPass) => SamplingRules) | undefined;
  },
): PlainRun[] {
  const passes = sequences.map((one) => passesOf(model, one));
  const inputs = passes.flat().map(({ input }) => input);
  const states = perSequence(passes, layerStates(model, inputs, tell));
  return sequences.map((one, i) => {
    tell();
    const last = states[i]!.map((layers) => layers.at(-1)!);
    const scores = plainScores(model, one, passes[i]!, last, temperature, rulesOf?.(one));
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
