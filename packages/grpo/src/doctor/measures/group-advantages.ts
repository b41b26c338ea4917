/** What holds of advantages that compare the completions of one group. */

import { largest, smallest } from '../../maths/moments.js';
import type { Declared } from '../../trace/index.js';
import { groupsOf } from '../groups.js';
import { type Evidence, type Found, fail, inform, type Measurements } from '../outcome.js';

export const BASELINE = 'a baseline, with which flat groups get 0';

/** Whether rewards are compared, in every group. */
export const isCentred = ({ advantage }: Declared) =>
  advantage?.baseline !== 'none' && advantage?.flat !== 'raw';

export const WHOLE = 'whole groups, of declared.rollout.group';

/** Whether every group is there as a whole: of several processes, a record may have the rows of one. */
export const isWhole = ({ promptOf, declared }: { promptOf: Int32Array; declared: Declared }) =>
  declared.rollout?.group === undefined ||
  groupsOf(promptOf).every(({ length }) => length === declared.rollout?.group);

/** A failure where the advantages are declared to be relative to a group; else it may be another method. */
export const asDeclared = <M extends Measurements>(
  declared: Declared,
  measured: M,
  evidence: readonly Evidence[] = [],
): Found<M> =>
  declared.advantage?.scale === undefined ? inform(measured, evidence) : fail(measured, evidence);

/** Whether rewards are one number, but for rounding; those that are NaN left out. */
export function isEqual(rewards: readonly number[]): boolean {
  const [least, most] = [smallest(rewards), largest(rewards)];
  return most - least <= 1e-6 * Math.max(1e-3, Math.abs(least), Math.abs(most));
}
