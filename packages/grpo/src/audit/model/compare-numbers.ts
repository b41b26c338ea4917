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
  const compared = rows.flatMap(({ place, drawn, moved }) => {
    // Greedy tokens have no random number.
    const numbered = drawn.flatMap(({ numbers, keys }) => (numbers ? [{ numbers, keys }] : []));
    const prompt = batch.problemOf(place);
    const rowOf = (group: number) => {
      const plain = Float32Array.from(numbered, ({ keys }) =>
        declaredDraw(trainer.config.seed, step, group, place % batch.groupSize, ...keys),
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
  const { draw, roundings } = toleranceOf(trainer.model.decoder.dtype);
  return compareRows('completion', 'random number of a draw', compared, { ...draw, roundings });
}
