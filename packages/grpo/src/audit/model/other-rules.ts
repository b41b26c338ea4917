import type { Drawn, SamplingRules } from '../plain/plain-drawing.js';
import { plainScores } from '../plain/plain-logprobs.js';
import type { PlainModel } from '../plain/plain-model.js';
import type { PlainSequence } from '../plain/plain-pass.js';
import type { PlainCompletion } from './plain-step.js';

/** Rules of sampling that differ in one thing from the declared ones. */
interface OtherRules {
  /** A noun: the setting that would stand for it, or what is done otherwise. */
  what: string;
  rulesOf(of: Pick<PlainSequence, 'prompt'>): SamplingRules;
}

/** Settings that do nothing at these values. */
const NEUTRAL = {
  ...{ temperature: 1, topK: 0, topP: 1, minP: 0, minNewTokens: 0 },
  ...{ repetitionPenalty: 1, presencePenalty: 0, frequencyPenalty: 0 },
} as const satisfies Partial<SamplingRules>;

const PENALTIES = ['repetitionPenalty', 'presencePenalty', 'frequencyPenalty'] as const;

/** Numbers of last ids that penalties may count, beside those that the first token that is off tells. */
const WINDOWS = [8, 16, 20, 32, 50, 64, 100, 128, 256];
/** Ids that may lie between the first token that a window bites at and the first that shows it. */
const NEAR = 16;

/** @param firstOff - the first place of a token that the declared rules do not explain */
export function* otherRules(declared: SamplingRules, firstOff = 0): Generator<OtherRules> {
  const all = (change: Partial<SamplingRules>, what: string): OtherRules => ({
    what,
    rulesOf: () => ({ ...declared, ...change }),
  });
  const set = (change: Partial<Record<keyof typeof NEUTRAL, number>>) =>
    all(
      change,
      Object.entries(change)
        .map(([key, value]) => `rollout.${key}=${value}`)
        .join(' '),
    );
  const { temperature } = declared;
  for (const [key, neutral] of Object.entries(NEUTRAL) as [keyof typeof NEUTRAL, number][])
    if (declared[key] !== neutral) yield set({ [key]: neutral });
  if (temperature > 0 && temperature !== 1) {
    yield all({ temperature: temperature ** 2 }, 'rollout.temperature applied twice');
    yield all(
      { temperature: 1 / temperature },
      'rollout.temperature multiplied with, in place of divided by,',
    );
  }
  if (PENALTIES.every((key) => declared[key] === NEUTRAL[key])) return;
  yield {
    what: 'penalties that count the ids of the prompt, too,',
    rulesOf: ({ prompt }) => ({
      ...declared,
      counted: (completion, place) => [...prompt, ...completion.slice(0, place)],
    }),
  };
  const told = Array.from({ length: Math.min(NEAR, firstOff) }, (_, i) => firstOff - i);
  for (const window of new Set([...told, ...WINDOWS.filter((one) => one < firstOff)]))
    yield all(
      { counted: (completion, place) => completion.slice(Math.max(0, place - window), place) },
      `penalties that count the last ${window} ids alone`,
    );
}

/** The draws of a completion under other rules; what the layers give stands in it. */
export const drawnBy = (
  model: PlainModel,
  { passes, states, ...one }: PlainCompletion,
  rules: SamplingRules,
): Drawn[] =>
  plainScores(
    model,
    one,
    passes,
    states.map((layers) => layers.at(-1)!),
    rules.temperature,
    () => rules,
  ).drawn;
