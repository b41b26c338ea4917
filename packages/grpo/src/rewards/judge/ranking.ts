/** Completions of one prompt in an order, in place of a score each. */
import { describeJson, isObject } from '../../formats/json.js';
import { readObject, unreadable } from './reply.js';

/**
 * The order in a reply about `count` completions, numbered from 1: `{"ranking": [3, 1, 2]}`, best first; equally good
 * ones in a list of their own, `[3, [1, 2]]`.
 *
 * @returns the place of each, from 0, in the order of their numbers; those that are equally good share the mean of theirs
 * @throws Reason unless each number from 1 to `count` is there exactly once
 */
export function readRanking(content: string, count: number): number[] {
  const { ranking } = readObject(content);
  if (!Array.isArray(ranking)) throw unreadable(content, `"ranking" is ${describeJson(ranking)}, not a list`);
  const places = new Array<number>(count).fill(Number.NaN);
  let place = 0;
  for (const entry of ranking as unknown[]) {
    const equal: unknown[] = Array.isArray(entry) ? entry : [entry];
    for (const number of equal) {
      if (!isNumber(number, count))
        throw unreadable(content, `"ranking" has ${describe(number)}, not a number from 1 to ${count}`);
      if (!Number.isNaN(places[number - 1])) throw unreadable(content, `"ranking" has ${number} twice`);
      places[number - 1] = place + (equal.length - 1) / 2;
    }
    place += equal.length;
  }
  if (place !== count) throw unreadable(content, `"ranking" has ${place} of ${count} completions`);
  return places;
}

const isNumber = (value: unknown, count: number): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= count;

const describe = (value: unknown) =>
  isObject(value) || Array.isArray(value) ? 'a list in a list' : describeJson(value);

/**
 * The reward of each completion: 1 for the best, 0 for the worst, in equal steps: (G − 1 − place) / (G − 1). Equal texts
 * were shown once, and share the mean of the places that they take.
 *
 * @param texts - the G completions; at least 2
 * @param placeOf - the place of each distinct text among the distinct ones
 */
export function rankScores(texts: readonly string[], placeOf: ReadonlyMap<string, number>): number[] {
  const places = texts.map((text) => placeOf.get(text)!);
  return places.map((own) => {
    const before = places.filter((other) => other < own).length;
    const equal = places.filter((other) => other === own).length;
    return 1 - (before + (equal - 1) / 2) / (texts.length - 1);
  });
}
