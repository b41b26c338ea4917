/** Random numbers that a run's seed declares, computed a second way: `maths/random.ts` computes them the first. */

const MASK = (1n << 64n) - 1n;
const GAMMA = 0x9e3779b97f4a7c15n;

/** The finalizer of splitmix64 over a state that has taken one key more. */
export function absorb(state: bigint, key: number): bigint {
  let z = ((state ^ (BigInt(key) & MASK)) + GAMMA) & MASK;
  z = ((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n) & MASK;
  z = ((z ^ (z >> 27n)) * 0x94d049bb133111ebn) & MASK;
  return z ^ (z >> 31n);
}

/** The number in [0, 1) of a state. */
export const drawOf = (state: bigint): number => Number(state >> 11n) / 2 ** 53;

/** The number in [0, 1) that a seed and keys declare. */
export const declaredDraw = (seed: number, ...keys: readonly number[]): number =>
  drawOf([seed, ...keys].reduce(absorb, 0n));
