import type { TokenSets } from '../../formats/token-sets.js';
import type { Trainer } from '../../step/trainer.js';
import { declaredOf } from '../../trace/declared-of.js';
import type { Declared } from '../../trace/index.js';
import type { AuditContext } from '../context.js';
import type { SamplingRules } from '../plain/plain-drawing.js';
import type { PlainModel } from '../plain/plain-model.js';
import type { PlainSequence } from '../plain/plain-pass.js';
import { type PlainRun, runPlain } from './plain-run.js';
import { rawModel } from './raw-model.js';
import { type Moved, scoresMovedByRounding } from './rounding.js';
import { toleranceOf } from './tolerance.js';

/** A completion that is computed again. */
export interface PlainCompletion extends PlainSequence, PlainRun {
  /** Its place among the completions of the step. */
  place: number;
  /** Whether the weights of this step sampled it. */
  isOwn: boolean;
  /** How far rounding moves its scores. */
  moved(): Moved;
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
  const options = { temperature: config.rollout.temperature, tell };
  const rulesOf = iteration?.masked_B ? undefined : () => rules;
  const own = runPlain(model, sequences, { ...options, rulesOf });
  const runs = sequences.map((one, i) => ({ ...one, ...own[i]! }));
  const moved = scoresMovedByRounding(model, runs, { ...options, rulesOf });
  const completions = runs.map((one, i): PlainCompletion => {
    const isOwn = !batch.exchange?.replayed.has(batch.problemOf(one.place));
    return { ...one, isOwn, moved: () => moved()[i]! };
  });
  return { declared, model, completions };
}
