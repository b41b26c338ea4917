/** What completions earned for what they say. */
import type { StepRecord } from '../../trace/index.js';
import type { Observation } from '../check.js';
import type { Inputs } from '../inputs.js';
import { once } from '../once.js';
import { goldIn } from './right-answers.js';

/** Name of the column that takes a KL from the rewards. */
export const PENALTY = 'kl_penalty';

/** Total rewards, without the KL where that is taken from them: it depends on how likely a completion was. */
export const gradesOf = once(({ declared, rewards }: StepRecord): Float64Array => {
  const { names = [], weights, values, totals } = rewards!;
  const k = declared?.kl?.place === 'reward' ? names.indexOf(PENALTY) : -1;
  if (k < 0 || !values) return totals!;
  const B = totals!.length;
  return totals!.map((total, b) => {
    const grade = total - (weights?.[k] ?? -1) * values[k * B + b]!;
    // The difference of a sum is off by its rounding.
    return Math.round(grade * 1e9) / 1e9;
  });
});

/** Names of rewards for the form of an answer. */
export const FORM = /format|tag|xml|style/i;

/** −1, 0 and 1 are what rewards are that are wholly missed or wholly earned. */
export const isNatural = (value: number): boolean => value === 0 || Math.abs(value) === 1;

/** What several records tell of each reward, record after record. */
export function byReward<T extends { reward: string }>(
  seen: readonly Observation<readonly T[]>[],
): { reward: string; own: (T & { step: number })[] }[] {
  const all = seen.flatMap(({ step, value }) => value.map((one) => ({ ...one, step })));
  const rewards = [...new Set(all.map(({ reward }) => reward))];
  return rewards.map((reward) => ({ reward, own: all.filter((one) => one.reward === reward) }));
}

/** The grades of one reward for the completions of a record that are right or wrong beyond doubt: each `[n]`. */
export interface Graded {
  reward: string;
  completions: Int32Array;
  /** 1 where the answer is right. */
  isRight: Uint8Array;
  values: Float64Array;
  /** A wrong answer that earns no less than any other. */
  example: { completion: number; text: string; gold: string; value: number } | undefined;
}

/**
 * Puts right and wrong answers beside what each reward gives them; a long run has many, so that few texts are kept.
 *
 * @param judge - whether a text has the reference answer; undefined where that cannot be told
 */
export function gradedAnswers(
  given: Pick<Inputs, 'answers' | 'texts' | 'promptOf' | 'rewardNames' | 'rewardValues'>,
  judge: (text: string, gold: string) => boolean | undefined,
): Graded[] {
  const { answers, texts, promptOf, rewardNames, rewardValues } = given;
  const goldOf = (b: number) => goldIn(answers[promptOf[b]!] ?? '');
  const verdicts = texts.map((text, b) => judge(text, goldOf(b)));
  return rewardNames.map((reward, k) => {
    const value = (b: number) => rewardValues[k * texts.length + b]!;
    const judged = [...texts.keys()].filter((b) => verdicts[b] !== undefined && !Number.isNaN(value(b)));
    const best = judged
      .filter((b) => !verdicts[b])
      .reduce<number | undefined>((a, b) => (a === undefined || value(b) > value(a) ? b : a), undefined);
    return {
      reward,
      completions: Int32Array.from(judged),
      isRight: Uint8Array.from(judged, (b) => Number(verdicts[b])),
      values: Float64Array.from(judged, value),
      example:
        best === undefined
          ? undefined
          : { completion: best, text: `…${texts[best]!.slice(-40)}`, gold: goldOf(best), value: value(best) },
    };
  });
}
