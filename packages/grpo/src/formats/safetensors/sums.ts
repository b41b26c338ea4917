import { crc32 } from 'node:zlib';
import type { Header } from './header.js';

/** In the header's metadata: the CRC-32 of each tensor, one after another. */
export const SUMS_KEY = 'crc32';

/** Digits of a sum, hexadecimal. */
export const SUM_DIGITS = 8;

/** A tensor's bytes: all, or in parts, of which one is held at a time. */
export type TensorBytes = Uint8Array | Iterable<Uint8Array>;

export const partsOf = (bytes: TensorBytes): Iterable<Uint8Array> =>
  bytes instanceof Uint8Array ? [bytes] : bytes;

/** A CRC-32 as text. */
export const sumText = (sum: number): string => sum.toString(16).padStart(SUM_DIGITS, '0');

/** The CRC-32 of a tensor's bytes, as text. */
export function sumOf(bytes: TensorBytes): string {
  let sum = 0;
  for (const part of partsOf(bytes)) sum = crc32(part, sum);
  return sumText(sum);
}

/** The sums that a header holds, by tensor; undefined where it holds none. */
export function sumsIn({ tensors, metadata }: Header): ReadonlyMap<string, string> | undefined {
  const { [SUMS_KEY]: text } = metadata;
  if (text?.length !== SUM_DIGITS * tensors.size || !/^[0-9a-f]*$/.test(text)) return undefined;
  const sumAt = (i: number) => text.slice(i * SUM_DIGITS, (i + 1) * SUM_DIGITS);
  return new Map([...tensors.keys()].map((name, i) => [name, sumAt(i)]));
}
