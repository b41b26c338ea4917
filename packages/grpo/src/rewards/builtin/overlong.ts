import { UserError } from '../../errors/user-error.js';
import type { RewardFunction } from '../reward.js';
import type { RewardTable } from '../reward-table.js';
import { idsIn } from './completion-ids.js';

/** The reward's name, in metrics and records. */
const NAME = 'overlong';

/** Where the punishment of long completions begins and ends, in tokens. */
export interface OverlongSettings {
  /** Length from which a completion is punished in full. */
  maxTokens: number;
  /** Tokens before that over which the punishment grows. */
  buffer: number;
}

/**
 * Soft overlong punishment (DAPO, Yu et al., 2025, eq. 13): 0 up to maxTokens − buffer, from there falling evenly to −1
 * at maxTokens.
 *
 * @param length - tokens of a completion, its end token included
 */
export function overlongPunishment(length: number, { maxTokens, buffer }: OverlongSettings): number {
  const over = length - (maxTokens - buffer);
  return over <= 0 ? 0 : -Math.min(over / buffer, 1);
}

/** {@link overlongPunishment} of each completion, as a reward like any other. */
export function overlong(settings: OverlongSettings): RewardFunction<unknown> {
  return (batch) => idsIn(batch).map(({ length }) => overlongPunishment(length, settings));
}

/**
 * Adds the punishment as a reward of its own, with weight 1.
 *
 * @param lengths - tokens of the completions
 * @throws UserError when another reward has the name
 */
export function withOverlong(
  table: RewardTable,
  lengths: readonly number[],
  settings: OverlongSettings,
): RewardTable {
  if (table.names.includes(NAME))
    throw new UserError(
      `two rewards are named ${NAME}: groups.overlongBuffer makes one, the task has another`,
      {
        hint: "Give the task's another name, or set groups.overlongBuffer=0.",
      },
    );
  return {
    ...table,
    names: [...table.names, NAME],
    weights: [...table.weights, 1],
    columns: [...table.columns, Float64Array.from(lengths, (length) => overlongPunishment(length, settings))],
  };
}
