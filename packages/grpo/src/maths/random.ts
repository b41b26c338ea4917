/**
 * Random numbers as a pure function of a seed and integer keys: no state to save, and a draw does not depend on
 * how many others were made before it. Each key passes through the finalizer of splitmix64.
 *
 * 64-bit words are two 32-bit halves, because BigInt is far too slow for a sampler; signed ones, as V8 allocates memory
 * for others.
 */

const GAMMA_HI = 0x9e3779b9;
const GAMMA_LO = 0x7f4a7c15;

let hi = 0;
let lo = 0;

/** Upper 32 bits of the 64-bit product of two numbers of 32 bits without a sign. */
function multiplyHigh(a: number, b: number): number {
  const a0 = a & 0xffff;
  const a1 = a >>> 16;
  const b0 = b & 0xffff;
  const b1 = b >>> 16;
  const cross = Math.imul(a1, b0) + (Math.imul(a0, b0) >>> 16);
  const middle = Math.imul(a0, b1) + (cross & 0xffff);
  return (Math.imul(a1, b1) + (cross >>> 16) + (middle >>> 16)) | 0;
}

/** Multiplies the state by a constant, modulo 2^64. */
function multiply(constantHi: number, constantLo: number): void {
  hi = (multiplyHigh(lo, constantLo) + Math.imul(lo, constantHi) + Math.imul(hi, constantLo)) | 0;
  lo = Math.imul(lo, constantLo);
}

/** state ^= state >>> shift, for 0 < shift < 32. */
function xorShift(shift: number): void {
  lo ^= (lo >>> shift) | (hi << (32 - shift));
  hi ^= hi >>> shift;
}

/** Takes one integer into the state: xor, add the golden gamma, finalize. */
function absorb(key: number): void {
  if (!Number.isSafeInteger(key)) throw new RangeError(`random key must be a safe integer, got ${key}`);
  hi ^= Math.floor(key / 0x1_0000_0000);
  const sum = ((lo ^ key) >>> 0) + GAMMA_LO;
  lo = sum | 0;
  hi = (hi + GAMMA_HI + (sum > 0xffff_ffff ? 1 : 0)) | 0;
  xorShift(30);
  multiply(0xbf58476d, 0x1ce4e5b9);
  xorShift(27);
  multiply(0x94d049bb, 0x133111eb);
  xorShift(31);
}

/**
 * A number in [0, 1), multiple of 2^-53, that depends on nothing but its arguments.
 *
 * @param seed - safe integer, as are the keys; `uniform(seed)` is the top 53 bits of splitmix64's first output
 * @param keys - which draw: for example step, prompt, completion, token; their order counts
 * @throws RangeError for a key that is not a safe integer
 */
export function uniform(seed: number, ...keys: number[]): number {
  hi = 0;
  lo = 0;
  absorb(seed);
  for (const key of keys) absorb(key);
  return ((hi >>> 0) * 0x20_0000 + (lo >>> 11)) / 0x20_0000_0000_0000;
}

/** The numbers 0 … length − 1 in an order that depends on nothing but the arguments (Fisher–Yates). */
export function permutation(length: number, seed: number, ...keys: number[]): number[] {
  const order = Array.from({ length }, (_, i) => i);
  for (let i = length - 1; i > 0; i--) {
    const j = Math.floor(uniform(seed, ...keys, i) * (i + 1));
    [order[i], order[j]] = [order[j]!, order[i]!];
  }
  return order;
}

/** A seed for a generator with a state, by the same rule. */
export const seedOf = (seed: number, ...keys: number[]): number => uniform(seed, ...keys) * 2 ** 53;
