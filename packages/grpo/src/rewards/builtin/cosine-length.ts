import type { RewardFunction } from '../reward.js';
import { gradeAnswer } from './accuracy.js';
import { idsIn } from './completion-ids.js';

/** Rewards at the two ends of the schedule. */
export interface CosineLengthSettings {
  /** Tokens from which length counts no more. */
  maxTokens: number;
  /** Rewards of a right answer without tokens (1 when left out), and of one with `maxTokens` (0.5). */
  correctShort?: number | undefined;
  correctLong?: number | undefined;
  /** Rewards of a wrong answer without tokens (−1 when left out), and of one with `maxTokens` (−0.5). */
  wrongShort?: number | undefined;
  wrongLong?: number | undefined;
}

/**
 * The reward of an answer of so many tokens: along half a cosine from that of a short one to that of a long one (Yeo et
 * al., 2025, app. C.1). Right answers earn less with length, wrong ones lose less.
 */
export function cosineScaled(correct: boolean, length: number, settings: CosineLengthSettings): number {
  const { maxTokens, correctShort = 1, correctLong = 0.5, wrongShort = -1, wrongLong = -0.5 } = settings;
  const [short, long] = correct ? [correctShort, correctLong] : [wrongShort, wrongLong];
  return long + 0.5 * (short - long) * (1 + Math.cos(Math.PI * Math.min(length / maxTokens, 1)));
}

/** {@link cosineScaled} of each completion, right or wrong as `accuracy` has it; no opinion where that has none. */
export function cosineLength(settings: CosineLengthSettings, answerKey: string): RewardFunction<unknown> {
  return (batch) =>
    idsIn(batch).map((ids, i) => {
      const { correct, rule } = gradeAnswer(batch.completions[i]!, batch.rows[i], answerKey);
      if (correct === null) return { value: null, rule };
      return {
        value: cosineScaled(correct, ids.length, settings),
        parts: { correct: Number(correct) },
        rule,
      };
    });
}
