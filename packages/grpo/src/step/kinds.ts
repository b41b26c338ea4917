import { UserError } from '../errors/user-error.js';
import { isObject } from '../formats/json.js';
import type { Problem } from '../tasks/task.js';

/**
 * The kind of each problem, as its row tells it; '' for all where kinds are not told apart.
 *
 * @param key - `kl.kindKey`
 * @throws UserError for a row without it
 */
export function kindsOf(problems: readonly Problem[], key: string | undefined): string[] {
  return problems.map(({ row }) => (key === undefined ? '' : kindOf(row, key)));
}

function kindOf(row: unknown, key: string): string {
  const kind: unknown = isObject(row) ? row[key] : undefined;
  if (typeof kind === 'number' || (typeof kind === 'string' && kind !== '')) return String(kind);
  throw new UserError(`a problem has no kind: its row ${JSON.stringify(row)} has no text or number ${key}`, {
    hint: 'kl.kindKey names the field of a row that tells the kind. Give each row one, or take it out.',
  });
}
