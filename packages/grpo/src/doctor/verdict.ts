/** What a diagnosis comes to, as one word. */

import { mean } from '../maths/moments.js';
import { FEWEST, movementOf, whenText } from './course/movements.js';
import { ENOUGH_STEPS, METRICS } from './course/run-course.js';
import type { Diagnosis } from './examine.js';
import { say } from './sentence.js';

/** Fewest entries in which a rise of the reward lasts, or that tell of a long run whose other steps are not told. */
const FEWEST_RISING = 16;

/** Mean of rewards from 0 to 1 from which little is left to learn. */
const HIGH = 0.85;

/**
 * `too little to judge`: nothing was found, in a log of few steps whose reward does not visibly rise. Step records are judged
 * one by one, so that with them nothing was found.
 */
export type Verdict = 'sick' | 'nothing found' | 'too little to judge' | 'not judged';

export function verdictOf({ findings, judgements, course, records }: Diagnosis): Verdict {
  if (judgements.every(({ judged }) => judged === 0))
    return course?.steps ? 'too little to judge' : 'not judged';
  if (findings.some(({ severity }) => severity !== 'inform')) return 'sick';
  if (records > 0 || !course || course.isLong) return 'nothing found';
  const points = course.of('reward')?.points ?? [];
  const span = (points.at(-1)?.step ?? 0) - (points[0]?.step ?? 0);
  const isStill = findings.some(({ fault }) => fault === 'B62');
  const isTold = course.lastingGain || (span >= ENOUGH_STEPS && !isStill);
  return points.length >= FEWEST_RISING && isTold ? 'nothing found' : 'too little to judge';
}

/** Why a log is too little, and what it could have shown. */
export function littleOf({ course }: Diagnosis): string {
  const reward = course?.of('reward');
  if (!course || course.steps === 0)
    return 'Too little to judge: no column of this log is known as a reward, so whether the run learns cannot be told.';
  const entries = course.pointsOf(METRICS.reward.name).length;
  const told = course.steps > entries ? say`, which tell of ${course.steps} steps,` : '';
  const few = say`Too little to judge: ${entries} ${entries === 1 ? 'entry' : 'entries'} with a reward${told} ${entries === 1 ? 'does' : 'do'} not tell a run that learns from one that does not.`;
  if (!reward) return few;
  if (reward.noise === 0 && reward.start === reward.end)
    return say`${few} The reward is ${reward.end} at every one of them.`;
  if (reward.points.length < FEWEST)
    return say`${few} The reward went from ${reward.start} to ${reward.end}; so few entries do not tell its noise.`;
  const values = reward.points.map(({ value }) => value);
  const [least, most, middle] = [Math.min(...values), Math.max(...values), mean(values)];
  const { from, to, low, high } = reward.line;
  const line = say`a straight line through ${entries} rewards goes from ${from} to ${to}`;
  const { direction } = reward;
  if (direction === 'rises')
    return say`The reward rises so far: ${line}, a gain of ${low} at least with 95 % confidence. So few entries do not tell whether it stays there.`;
  if (direction === 'falls')
    return say`The reward falls so far: ${line}, a loss of ${-high} at least with 95 % confidence. So few entries do not tell whether it recovers.`;
  // The top of other rewards is not known.
  const isShare = least >= 0 && most <= 1;
  if (isShare && course.isHigh && middle >= HIGH)
    return say`The reward is high from the start, so little is left to learn: ${line}. So few entries do not tell more.`;
  const worth = isShare ? (1 - middle) / 10 : course.rewardUnit / 2;
  if (high < worth)
    return say`The reward does not rise so far: ${line}, and a gain of more than ${Math.max(0, high)} is excluded with 95 % confidence. So few entries do not tell whether it will.`;
  const moved = movementOf(course, 'reward');
  // A reward that moved beyond the noise is not hidden by it, whatever a line says.
  if (moved)
    return say`${few} The reward ${moved.to > moved.from ? 'rose' : 'fell'} from ${moved.from} to ${moved.to} ${whenText(moved)}; ${line}.`;
  if (high > most - least)
    return say`${few} Its rewards lie between ${least} and ${most}, and their noise hides a gain of as much.`;
  return say`${few} ${line[0]!.toUpperCase()}${line.slice(1)}; a gain of up to ${high} is not excluded.`;
}
