/**
 * Groups whose rewards do not differ teach nothing. They are replaced by groups of further problems (dynamic sampling:
 * DAPO, Yu et al., 2025, sec. 3.2), and those that are still flat by groups that were stored in earlier steps.
 */
import { UserError } from '../errors/user-error.js';
import { isFlatGroup } from '../objective/index.js';
import type { Problem } from '../tasks/task.js';
import type { Batch } from './batch.js';
import { advantageSettings } from './compare-rewards.js';
import { groupsOf, joinGroups } from './groups.js';
import type { Trainer } from './trainer.js';

/**
 * Replaces flat groups by groups of further problems, in at most `groups.refills` rounds, and then by stored ones. Those
 * that nothing replaces stay.
 *
 * @param draw - samples and scores a group of each problem; `place` of the first among all groups of the step fixes
 *   the draws
 * @returns as many groups as were given
 */
export async function exchangeFlat(
  { config, supply, replay }: Pick<Trainer, 'config' | 'supply' | 'replay'>,
  own: Batch,
  step: number,
  draw: (problems: readonly Problem[], place: number) => Promise<Batch>,
): Promise<Batch> {
  const { refills } = config.groups;
  const settings = advantageSettings(config);
  const isFlat = ({ rewards_B }: Batch) => isFlatGroup(rewards_B, settings);
  const groups = groupsOf(own);
  const flatPlaces = () => [...groups.keys()].filter((p) => isFlat(groups[p]!));
  const replaced: Batch[] = [];
  const replace = (place: number, group: Batch) => replaced.push(...groups.splice(place, 1, group));

  let sampled = groups.length;
  let { tokens } = own;
  let refilled = 0;
  for (let round = 0; round < refills; round++) {
    const places = flatPlaces();
    if (places.length === 0) break;
    const more = await draw(needed(supply, 'refills').take(places.length), sampled);
    sampled += places.length;
    tokens += more.tokens;
    for (const group of groupsOf(more)) {
      if (isFlat(group)) {
        replaced.push(group);
        continue;
      }
      replace(places.shift()!, group);
      refilled++;
    }
  }

  const places = flatPlaces();
  const stored =
    config.groups.replay === 0 ? [] : needed(replay, 'replay').draw(places.length, config.seed, step);
  const replayed = new Map(stored.map((one, i) => [places[i]!, one]));
  for (const [place, { group }] of replayed) replace(place, group);
  const batch = replaced.length > 0 ? joinGroups(groups, own.rewardTable, replaced) : own;
  batch.exchange = { own, sampled, tokens, refilled, replayed, flat: places.slice(stored.length) };
  return batch;
}

/** A loop of one's own may have forgotten it. */
function needed<T>(of: T | undefined, key: 'refills' | 'replay'): T {
  if (of) return of;
  const how = key === 'refills' ? 'supply: new Supply(problems, seed)' : 'replay: new ReplayStore(size)';
  throw new UserError(`groups.${key} is set, and the trainer has nothing to do it with`, {
    hint: `Give the trainer ${how}, or set groups.${key}=0.`,
  });
}
