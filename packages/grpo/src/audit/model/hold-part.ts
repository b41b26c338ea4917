import { noGrad, type Tensor, tidy } from '@grpo/torch';
import type { Comparison, HandOver } from '../../trace/index.js';
import { type Pair, worstOf } from '../worst.js';
import { ROUNDED_AT, widened } from './rounding.js';
import type { Tolerance } from './tolerance.js';

/** How parts are compared. */
export interface PartOptions {
  /** The hand-over that outputs belong to. */
  forward: HandOver;
  tolerance: Tolerance;
  /** To be called between the parts. */
  tell(): void;
}

/** The pieces of a part of the model. All three ways compute them from the same inputs and slopes. */
export interface PartPieces {
  plain(): Piece[];
  /** The same by the model that trains. */
  trained(): Tensor[];
  /** The same by the plain path when it rounds, at a factor. */
  rounded(at: number): Tensor[];
}

/** A piece of what a part of the model gives, as the plain path has it. */
export interface Piece {
  /** Name of the tensor whose gradient this is; undefined for output and slopes. */
  name?: string;
  of: 'output' | 'gradient';
  value: Tensor;
  /** Norm of the number that is rounded, where the value is what the part adds to it. */
  whole?: number;
}

/** Gradients of tensors, by name. */
export const gradientPieces = (gradients: ReadonlyMap<string, Tensor>): Piece[] =>
  [...gradients].map(([name, value]) => ({ name, of: 'gradient', value }));

/**
 * Holds a part of the model by itself to the plain one. What one part rounds is little, however far all of them together
 * move what the model gives.
 *
 * @param kind - such as `layer`: begins the names of the quantities
 * @param part - stands for what has no tensor's name
 * @returns nothing in full precision, where the model as a whole tells as much
 */
export function holdPart(kind: string, part: string, pieces: PartPieces, options: PartOptions): Comparison[] {
  const { forward, tolerance, tell } = options;
  const { part: allowed, roundings } = tolerance;
  if (!allowed) return [];
  return tidy(() => {
    const plain = pieces.plain().map((one) => ({ ...one, norm: normOf(one.value) }));
    const found = compareAll(pieces.trained(), plain);
    let known: Apart[][] | undefined;
    const measure = (at: number) => {
      tell();
      return tidy(() => compareAll(pieces.rounded(at), plain));
    };
    const rounded = () => (known ??= ROUNDED_AT.map(measure));
    return widened(1, (besides) =>
      plain.flatMap(({ name: tensor = part, of, norm, whole = 0 }, i) => {
        const { distance, share } = found[i]!;
        const handOver = of === 'output' ? forward : 'gradient';
        const held = (what: string, pair: Pair, moved: (one: Apart) => number) => {
          const most = () => Math.max(...rounded().map((all) => moved(all[i]!)));
          const bound = pair.bound + besides(most);
          return worstOf(handOver, `${kind}'s ${what} the plain ${of}`, [{ ...pair, bound, tensor }]);
        };
        const far = allowed.distance + relative(ROUNDING * whole, norm);
        const along = (one: Apart) => Math.abs(one.share - 1);
        return [
          ...held(
            'distance to',
            { found: distance, plain: 0, bound: far },
            (one) => roundings * one.distance + (ALONG - roundings) * along(one),
          ),
          ...held('share of', { found: share, plain: 1, bound: allowed.share }, (one) => ALONG * along(one)),
        ];
      }),
    );
  });
}

/**
 * Times as far as rounding moves a share. It is one number, so that all five ways to round may move it little by chance: an
 * error of the same normal distribution exceeds eight times the farthest of them once in 17,000 times. A distance is the
 * sum of many numbers, unless all of it lies along the plain one.
 */
const ALONG = 8;

/** Half precision rounds a number by at most this share of it, and a sum twice. */
const ROUNDING = 2 ** -8;

/** How a piece lies to the plain one, by the norm of this: their distance, and the length along it. */
interface Apart {
  distance: number;
  share: number;
}

const compareAll = (
  values: readonly Tensor[],
  plain: readonly (Pick<Piece, 'value'> & { norm: number })[],
): Apart[] =>
  plain.map(({ value, norm }, i) =>
    noGrad(() =>
      tidy(() => {
        const off = values[i]!.sub(value);
        const along = off.mul(value).sum().item();
        return { distance: relative(normOf(off), norm), share: 1 + relative(along, norm ** 2) };
      }),
    ),
  );

/** Nothing of nothing is nothing. */
const relative = (x: number, norm: number): number => (x === 0 ? 0 : x / norm);

/** The root of the sum of squares. */
export const normOf = (x: Tensor): number => noGrad(() => tidy(() => Math.sqrt(x.mul(x).sum().item())));
