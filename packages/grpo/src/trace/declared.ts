/**
 * What a run declares that it does: the sections of the configuration, under the keys that they have there, whoever
 * trained. A key that a producer's settings do not tell is missing, not guessed.
 */
import { z } from 'zod';
import { advantageSection } from '../config/sections/advantage.js';
import { correctionSection } from '../config/sections/correction.js';
import { diffusionSection } from '../config/sections/diffusion.js';
import { entropySection } from '../config/sections/entropy.js';
import { klSection } from '../config/sections/kl.js';
import { loraSection } from '../config/sections/lora.js';
import { objectiveSection } from '../config/sections/objective.js';
import { rolloutSection } from '../config/sections/rollout.js';
import { teacherSection } from '../config/sections/teacher.js';
import { optimizerSection } from '../config/sections/training.js';
import { isObject } from '../formats/json.js';
import { real } from './real.js';

/** How the text that rewards get differs from the one that was sampled, beyond special tokens and white space at its ends. */
export const TEXT_CHANGES = [
  /** It begins with the end of the prompt. */
  'prompt',
  /** The stop string that ended it is gone. */
  'stop',
  /** It ends earlier. */
  'cut',
  /** Anything else. */
  'rewritten',
] as const;

export type TextChange = (typeof TEXT_CHANGES)[number];

/** A setting as a record has it: a number may be any, as the run had it. */
type Recorded<T> = T extends number ? number : T;

type RecordedShape<S extends z.ZodRawShape> = {
  [K in keyof S]: z.ZodOptional<z.ZodType<Recorded<NonNullable<z.output<S[K]>>>>>;
};

/** A section of the configuration of which any key may be missing. */
function recorded<S extends z.ZodRawShape>(section: z.ZodObject<S>): z.ZodObject<RecordedShape<S>> {
  const shape = Object.entries(section.shape).map(([key, type]) => [
    key,
    recordedType(type as z.ZodType).optional(),
  ]);
  return z.object(Object.fromEntries(shape) as RecordedShape<S>);
}

function recordedType(type: z.ZodType): z.ZodType {
  if (type instanceof z.ZodDefault || type instanceof z.ZodOptional)
    return recordedType(type.unwrap() as z.ZodType);
  if (type instanceof z.ZodTuple)
    return z.tuple(type.def.items.map((item) => recordedType(item as z.ZodType)) as [z.ZodType]);
  // The one union, `advantage.ddof`, is of numbers.
  return type instanceof z.ZodNumber || type instanceof z.ZodUnion ? real : type;
}

export const declaredSchema = z.object({
  rollout: recorded(rolloutSection).optional(),
  /** Of a masked-diffusion model. */
  diffusion: recorded(diffusionSection).optional(),
  /** A loss has the name that its trainer gives it. */
  objective: recorded(objectiveSection.extend({ loss: z.string() })).optional(),
  advantage: recorded(advantageSection).optional(),
  kl: recorded(klSection).optional(),
  /** The model that the KL is measured to, where that is not the starting model. */
  teacher: recorded(teacherSection).optional(),
  entropy: recorded(entropySection).optional(),
  correction: recorded(correctionSection).optional(),
  optimizer: recorded(optimizerSection).optional(),
  lora: recorded(loraSection).optional(),
  /** Number type of the weights that the forward pass reads. */
  dtype: z.string().optional(),
  /** Whether the optimizer keeps float32 weights beside them. */
  masterWeights: z.boolean().optional(),
  /** Strings that end a completion. */
  stop: z.array(z.string()).optional(),
  /** What the run itself changes between the text that was sampled and the one that rewards get. */
  textChanges: z.array(z.enum(TEXT_CHANGES)).optional(),
  maxPromptTokens: real.optional(),
  /** Optimizer updates from one rollout. */
  updatesPerRollout: real.optional(),
  rewardWeights: z.array(real).optional(),
  /** Modules with dropout that were in training mode while the policy was scored. */
  activeDropout: z.array(z.string()).optional(),
  /** Stages of the step that a user put in place of the standard ones: settings tell nothing of what they do. */
  ownStages: z.array(z.string()).optional(),
});

export type Declared = z.output<typeof declaredSchema>;

/** One section of what is declared. */
export type DeclaredSection<K extends 'rollout' | 'objective' | 'advantage' | 'kl' | 'correction'> =
  NonNullable<Declared[K]>;

/** What both declare, section by section; where both declare a key, the second counts. */
export function declaredByBoth(one: Declared = {}, other: Declared = {}): Declared {
  const merged: Record<string, unknown> = { ...one };
  for (const [key, value] of Object.entries(other))
    merged[key] = isObject(value) ? { ...(merged[key] as object), ...value } : value;
  return merged;
}
