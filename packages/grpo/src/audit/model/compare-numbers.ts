import { sum } from '../../maths/moments.js';
import type { Comparison } from '../../trace/index.js';
import type { AuditContext } from '../context.js';
import { declaredDraw } from '../order/declared-draw.js';
import type { Drawn } from '../plain/plain-drawing.js';
import { compareRows } from './compare-rows.js';
import { toleranceOf } from './tolerance.js';

/** Tokens of a completion, each with what names its random number behind seed, step, group and completion. */
export interface DrawnRow {
  /** Its place among the completions of the step. */
  place: number;
  drawn: readonly (Pick<Drawn, 'numbers'> & { keys: readonly number[] })[];
  /** How far rounding moves the number of each token. */
  moved(): Float64Array;
}

/**
 * Whether each token is the one that its random number draws, which the seed declares: numbers that are used twice, or bent,
 * show here, whatever they do to the completions.
 */
export function compareNumbers(
  { trainer, batch, step }: AuditContext,
  rows: readonly DrawnRow[],
): Comparison[] {
  const { own = batch, sampled = 0 } = batch.exchange ?? {};
  const { length: first } = own.problems;
  const refills = Array.from({ length: Math.max(0, sampled - first) }, (_, i) => first + i);
  const { draw, roundings } = toleranceOf(trainer.model.decoder.dtype);
  const tolerance = { ...draw, roundings };
  const rowsBy = (keyed: Keyed = (declared) => declared) =>
    rows.flatMap(({ place, drawn, moved }) => {
      // Greedy tokens have no random number.
      const numbered = drawn.flatMap(({ numbers, keys }) => (numbers ? [{ numbers, keys }] : []));
      const prompt = batch.problemOf(place);
      const rowOf = (group: number) => {
        const key = keyed({ step, group, completion: place % batch.groupSize });
        const plain = Float32Array.from(numbered, ({ keys }) =>
          declaredDraw(trainer.config.seed, key.step, key.group, key.completion, ...keys),
        );
        const found = plain.map((number, i) => {
          const [from, to] = numbered[i]!.numbers;
          return Math.min(Math.max(number, from), to);
        });
        const off = sum(Array.from(plain, (number, i) => Math.abs(number - found[i]!)));
        return { completion: place, found, plain, moved, off };
      };
      // In which of the places behind the first ones a group was drawn is not declared.
      const isRefilled = batch.problems[prompt] !== own.problems[prompt];
      const candidates = (isRefilled ? refills : [prompt]).map(rowOf);
      return candidates.sort((a, b) => a.off - b.off).slice(0, 1);
    });
  const declared = rowsBy();
  const compared = compareRows('completion', 'random number of a draw', declared, tolerance);
  if (compared.every(({ deviation, bound }) => deviation <= bound)) return compared;
  const others = otherKeys(batch.problems.length, step).filter(({ keyed }) => {
    // Some completions may have the numbers that they should.
    const either = rowsBy(keyed).map((row, i) => (declared[i]!.off <= row.off ? declared[i]! : row));
    return compareRows('completion', 'random number of a draw', either, tolerance).every(
      ({ deviation, bound }) => deviation <= bound,
    );
  });
  const [only, more] = others;
  // Short completions fit the numbers of several.
  return only && !more ? compared.map((one) => ({ ...one, explained: only.what })) : compared;
}

/** What fixes the random numbers of a completion, besides the seed. */
interface Key {
  step: number;
  group: number;
  completion: number;
}

type Keyed = (declared: Key) => Key;

/** Other keys that random numbers may have been drawn by. */
function otherKeys(groups: number, step: number): { what: string; keyed: Keyed }[] {
  const what = (of: string) => `the random numbers of ${of}`;
  const isLater = step > 0;
  return [
    { what: what('the first completion of each group'), keyed: (key) => ({ ...key, completion: 0 }) },
    { what: what('the first group'), keyed: (key) => ({ ...key, group: 0 }) },
    ...(isLater ? [{ what: what('the first step'), keyed: (key: Key) => ({ ...key, step: 0 }) }] : []),
    ...(step > 1
      ? [{ what: what('the step before'), keyed: (key: Key) => ({ ...key, step: step - 1 }) }]
      : []),
    { what: what('the step behind'), keyed: (key) => ({ ...key, step: step + 1 }) },
    ...Array.from({ length: groups - 1 }, (_, i) => ({
      what: what(i === 0 ? 'the group before' : `the group ${i + 1} places before`),
      keyed: (key: Key) => (key.group > i ? { ...key, group: key.group - i - 1 } : key),
    })),
  ];
}
