import { rewardName } from '../../config/reward-kinds.js';
import type { Config } from '../../config/schema.js';
import { toleranceOf } from '../../doctor/tolerance.js';
import type { Reward } from '../../rewards/index.js';
import { problemOf } from '../places.js';
import { worstOf } from '../worst.js';
import { gradeAgain } from './grade-again.js';
import { type Explained, explainRewards, noFunction, type PairingContext } from './pairing.js';

/** Relative: sums of the same parts in another order. */
export const ROUNDING = 1e-9;

/** The values of a first grading by one reward, and what is needed to repeat it. */
export interface FirstGrading extends Pick<PairingContext, 'batch' | 'reward' | 'recorded'> {
  config: Config;
  /** The completions that are graded again, ascending. */
  members: readonly number[];
  /** Grades all completions again by the stage of the step, where there is one. */
  gradedAgain?(): Promise<Float64Array | undefined>;
}

/** The recorded values of one reward beside those of a second grading, the last first; what differs is looked into. */
export async function compareGradings({
  config,
  batch,
  reward,
  recorded,
  members,
  gradedAgain,
}: FirstGrading): Promise<Explained> {
  const isSame = (a: number, b: number) => Object.is(a, b) || Math.abs(a - b) <= boundOf(config, reward, b);
  const asked = members
    .map((completion) => ({ completion, problem: problemOf(batch, completion) }))
    .reverse();
  const graded = await gradeAgain(reward, batch, asked);
  if (typeof graded === 'string')
    return { missing: `the values of the reward ${reward.name} when it is asked again: ${graded}` };
  if (members.every((b) => isSame(recorded[b]!, graded.get(b)!))) {
    const known = members.filter((b) => !Number.isNaN(recorded[b]!));
    const pairs = known.map((completion) => {
      const plain = graded.get(completion)!;
      return { found: recorded[completion]!, plain, bound: boundOf(config, reward, plain), completion };
    });
    return { comparisons: worstOf('reward', `reward ${reward.name}`, pairs) };
  }
  // Chance is found out before all are graded again.
  const twice = await gradeAgain(reward, batch, asked);
  if (typeof twice === 'string' || !members.every((b) => isSame(twice.get(b)!, graded.get(b)!)))
    return { missing: noFunction(reward) };
  return await explainRewards({ batch, reward, recorded, again: await gradedAgain?.(), isSame });
}

/** Returns how far two gradings may lie apart: a reward model rounds to its dtype, beside other sequences each time. */
export function boundOf(config: Config, { name }: Reward, value: number): number {
  const isModel = config.rewards.some((entry) => entry.model !== undefined && rewardName(entry) === name);
  const relative = isModel ? toleranceOf({ declared: { dtype: config.dtype } }).max : ROUNDING;
  return relative * Math.max(1, Math.abs(value));
}
