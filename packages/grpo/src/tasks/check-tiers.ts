import { excerpt } from '../errors/printable.js';
import { UserError } from '../errors/user-error.js';
import { describeJson, isObject } from '../formats/json.js';
import { parseLabel, questionHash, type Tiers } from '../rewards/tier.js';
import type { Task } from './task.js';

/** A second label that such rows may have, with the same hash. */
const SCOPE = 'scope';

/**
 * Refuses rows without a known tier, and those whose tier or scope has the hash of another question. All rows are
 * looked at: a hash takes a microsecond.
 *
 * @param keys - fields of a row: of its tier, and of the question that was hashed
 * @throws UserError that counts the wrong rows and shows the first
 */
export function checkTiers(
  task: Pick<Task, 'train' | 'eval'>,
  tiers: Tiers,
  keys: { tierKey: string; questionKey: string },
): void {
  const rows = [...task.train, ...task.eval].map(({ row }) => row);
  const problems = rows.flatMap((row) => {
    const problem = isObject(row) ? problemOf(row, tiers, keys) : 'no row with fields';
    return problem === undefined ? [] : [problem];
  });
  if (problems.length === 0) return;
  throw new UserError(
    `${problems.length} of ${rows.length} rows have no valid ${keys.tierKey}: ${problems[0]}`,
    {
      hint: 'A tier is LABEL or LABEL:SHA1, the SHA-1 being that of the question in UTF-8. Make the labels of these rows again.',
    },
  );
}

function problemOf(
  row: Readonly<Record<string, unknown>>,
  tiers: Tiers,
  { tierKey, questionKey }: { tierKey: string; questionKey: string },
): string | undefined {
  const question = row[questionKey];
  const tier = parseLabel(row[tierKey]);
  const at = typeof question === 'string' ? ` of ${excerpt(question)}` : '';
  if (!tier) return `${tierKey}${at} is ${describeJson(row[tierKey])}, not LABEL or LABEL:SHA1`;
  if (!Object.hasOwn(tiers, tier.label))
    return `${tierKey}${at} is ${tier.label}, and tiers has ${Object.keys(tiers).join(', ')}`;
  const scope = parseLabel(row[SCOPE]);
  const wrong = [[tierKey, tier] as const, ...(scope ? [[SCOPE, scope] as const] : [])].find(
    ([, { sha1 }]) =>
      sha1 !== undefined && !(typeof question === 'string' && sha1 === questionHash(question)),
  );
  return (
    wrong && `${wrong[0]}${at} has the hash ${wrong[1].sha1}, which is not that of the row's ${questionKey}`
  );
}
