import { type Tensor, tidy } from '@grpo/torch';
import type { Slopes } from '../../doctor/recompute/policy-slopes.js';
import { sum } from '../../maths/moments.js';
import { sampleOf } from '../../models/index.js';
import type { Comparison } from '../../trace/index.js';
import { eachGradient } from '../plain/plain-gradient.js';
import { type PlainScores, scoreSequences } from '../plain/plain-logprobs.js';
import type { PlainModel } from '../plain/plain-model.js';
import type { PlainSequence } from '../plain/plain-pass.js';
import { type PlainRun, runPlain, type ScoreOptions, slopedPasses } from './plain-run.js';

/** Factors at which the plain path is rounded: as many samples of what rounding may do. */
export const ROUNDED_AT = [1, 1.09, 1.19, 1.3, 1.41];

/** Elements of a tensor, or of a part of one, that stand for all: no gradient is held whole. */
const KEPT = 2 ** 14;

/**
 * How far rounding each part's results to bfloat16 moves the plain gradient of each tensor, by its name: the farthest of
 * some ways to round. A model that has become sharp moves it more than any bound which still tells faults.
 */
export function gradientsMovedByRounding(
  model: PlainModel,
  sequences: readonly (PlainSequence & PlainRun)[],
  slopes: readonly Slopes[],
  options: ScoreOptions,
): Map<string, number> {
  const plain = sampled(model, sequences, slopes, options);
  const farthest = new Map<string, number>();
  for (const roundsAt of ROUNDED_AT) {
    const rounded = { ...model, roundsAt };
    const squares = new Map<string, number>();
    const own = tidy(() => sampled(rounded, runPlain(rounded, sequences, options), slopes, options));
    for (const [i, { name, values, weight }] of own.entries()) {
      const square = sum(values.map((x, e) => (x - plain[i]!.values[e]!) ** 2));
      squares.set(name, (squares.get(name) ?? 0) + weight * square);
    }
    for (const [name, square] of squares)
      farthest.set(name, Math.max(farthest.get(name) ?? 0, Math.sqrt(square)));
  }
  return farthest;
}

/**
 * A comparison with bounds of rounding. Once more, with wider ones, where something is beyond them: by as many times what
 * rounding does to the plain path of these very sequences.
 *
 * @param roundings - 0 in full precision, which rounding cannot explain
 * @param compare - is told what to add to a bound, by how far rounding moves the number: asked for in the second round only
 */
export function widened(
  roundings: number,
  compare: (besides: (moved: () => number) => number) => Comparison[],
): Comparison[] {
  const first = compare(() => 0);
  const isNear = first.every(({ deviation, bound }) => deviation <= bound);
  return isNear || roundings === 0 ? first : compare((moved) => roundings * moved());
}

/** How far rounding moves what the plain path has of the tokens of a sequence. */
export type Moved = Record<'logprobs' | 'whole' | 'numbers' | 'behind', Float64Array>;

/**
 * Compared with the scores that the plain path has of each sequence: the farthest of the same ways to round. It is computed
 * where it is asked for, once.
 */
export function scoresMovedByRounding(
  model: PlainModel,
  sequences: readonly (PlainSequence & Pick<PlainRun, 'scores'>)[],
  { temperature, tell, rulesOf }: ScoreOptions,
): () => readonly Moved[] {
  let known: Moved[] | undefined;
  const valuesOf = ({ logprobs, whole, drawn }: PlainScores): Record<keyof Moved, ArrayLike<number>> => ({
    logprobs,
    whole,
    // Each token has two: the least and the largest number that draws it.
    numbers: drawn.flatMap(({ numbers }) => numbers ?? []),
    behind: drawn.flatMap(({ behind }) => behind ?? []),
  });
  const measure = (): Moved[] => {
    const ways = ROUNDED_AT.map((roundsAt) =>
      scoreSequences({ ...model, roundsAt }, sequences, temperature, tell, rulesOf).map(valuesOf),
    );
    return sequences.map(({ scores }, i) => {
      const plain = valuesOf(scores);
      const farthest = (of: keyof Moved) =>
        Float64Array.from(plain[of], (value, n) =>
          Math.max(...ways.map((rounded) => Math.abs(rounded[i]![of][n]! - value))),
        );
      const bounds = farthest('numbers');
      const numbers = Float64Array.from({ length: bounds.length / 2 }, (_, n) =>
        Math.max(bounds[2 * n]!, bounds[2 * n + 1]!),
      );
      return {
        logprobs: farthest('logprobs'),
        whole: farthest('whole'),
        numbers,
        behind: farthest('behind'),
      };
    });
  };
  return () => (known ??= measure());
}

/** Elements of a tensor's gradient, or of some of its rows, each of which stands for `weight` of them. */
interface Sample {
  name: string;
  values: Float32Array;
  weight: number;
}

/** Samples of all gradients, in the order in which the plain path has them. */
function sampled(
  model: PlainModel,
  runs: readonly PlainRun[],
  slopes: readonly Slopes[],
  { temperature, tell }: ScoreOptions,
): Sample[] {
  const samples: Sample[] = [];
  const take = (name: string, gradient: Tensor) => {
    const values = tidy(() => sampleOf(gradient, KEPT).toTypedArray()) as Float32Array;
    samples.push({ name, values, weight: gradient.numel / values.length });
  };
  eachGradient(model, slopedPasses(runs, slopes), temperature, take, tell);
  return samples;
}
