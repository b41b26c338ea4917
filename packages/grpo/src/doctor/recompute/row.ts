/** One completion of an update, and sums over its trained tokens. */

export interface Row {
  /** 1 where a token is trained on; all are when missing. */
  mask?: Uint8Array | undefined;
  /** log π of each token. */
  policy: Float32Array;
  /** Of the policy that sampled; the policy's own when missing: a ratio of exactly 1. */
  old?: Float32Array | undefined;
}

export const isTrained = (mask: Uint8Array | undefined, token: number): boolean => mask?.[token] !== 0;

/** Sum over the trained tokens of a row, and how many they are. */
export function sumOver(
  length: number,
  mask: Uint8Array | undefined,
  of: (token: number) => number,
): { sum: number; count: number } {
  let [sum, count] = [0, 0];
  for (let t = 0; t < length; t++) {
    if (!isTrained(mask, t)) continue;
    sum += of(t);
    count++;
  }
  return { sum, count };
}

/** Mean over the trained tokens of a row; 0 where there is none. */
export function meanOver(
  length: number,
  mask: Uint8Array | undefined,
  of: (token: number) => number,
): number {
  const { sum, count } = sumOver(length, mask, of);
  return sum / Math.max(count, 1);
}

/** log π − log π_old of a token. */
export const gapOf = ({ policy, old }: Row, token: number): number =>
  old ? policy[token]! - old[token]! : 0;
