/** Values as a few levels, which colour, line and legend show alike. */
import { shortNumber } from '../../parts/numbers.js';

/** The class of a token, and its words in the legend. */
export interface Level {
  name: string;
  says: string;
}

/** The levels of a measure. */
export interface Scale {
  /** Words for the lines of its levels. */
  lines: string;
  levels: readonly Level[];
  levelOf(value: number | undefined): Level | undefined;
}

/** The level of NaN and infinities. */
export const NOT_FINITE: Level = { name: 'not-finite', says: 'NaN or infinite' };

interface SizeScale {
  /** Sizes at which the levels 1 to 4 begin. */
  bounds: readonly number[];
  isSigned: boolean;
  /** A value as a size with a sign. */
  sizeOf?: (value: number) => number;
  /** A bound in the words of the measure. */
  says: (bound: number, sign: 1 | -1) => string;
  /** The level below the first bound. */
  small: string;
}

/** Levels by size, on both sides of zero where the values have signs. */
export function sizeScale({ bounds, isSigned, sizeOf = (value) => value, says, small }: SizeScale): Scale {
  const side = (sign: 1 | -1): Level[] =>
    bounds.map((bound, i) => ({ name: `${sign > 0 ? 'plus' : 'minus'}-${i + 1}`, says: says(bound, sign) }));
  const zero: Level = { name: 'zero', says: small };
  const [plus, minus] = [side(1), isSigned ? side(-1) : []];
  return {
    lines: isSigned
      ? 'A line below is plus, a line above is minus; the thicker, the more.'
      : 'The thicker the line, the more.',
    levels: [...minus.toReversed(), zero, ...plus, NOT_FINITE],
    levelOf(value) {
      if (value === undefined) return undefined;
      const size = sizeOf(value);
      if (!Number.isFinite(size)) return NOT_FINITE;
      const count = bounds.filter((bound) => Math.abs(size) >= bound).length;
      if (count === 0) return zero;
      return (size < 0 && isSigned ? minus : plus)[count - 1]!;
    },
  };
}

/** Shares of the largest size at which the levels of {@link ownScale} begin. */
const SHARES = [0.05, 0.2, 0.5, 0.8];

/** Levels relative to the largest of the values, for measures without a natural scale. */
export function ownScale(values: ArrayLike<number>, unit = ''): Scale {
  let most = 0;
  for (let t = 0; t < values.length; t++) {
    const size = Math.abs(values[t]!);
    if (size > most && size < Infinity) most = size;
  }
  const bounds = most > 0 ? SHARES.map((share) => share * most) : [];
  return sizeScale({
    bounds,
    isSigned: true,
    says: (bound, sign) => `${sign > 0 ? '≥ ' : '≤ −'}${shortNumber(bound, 2)}${unit}`,
    small: bounds.length > 0 ? `below ${shortNumber(bounds[0], 2)}${unit}` : 'all are 0',
  });
}

/** A level for each of a few values. */
export function classScale(classes: Readonly<Record<number, Level>>): Scale {
  return {
    lines: '',
    levels: Object.values(classes),
    levelOf: (value) => (value === undefined ? undefined : classes[value]),
  };
}
