import { crc32 } from 'node:zlib';
import type { Header } from './header.js';

/** In the header's metadata: the CRC-32 of each tensor, one after another. */
export const SUMS_KEY = 'crc32';

/** Digits of a sum, hexadecimal. */
export const SUM_DIGITS = 8;

/** The CRC-32 of a tensor's bytes, as text. */
export const sumOf = (bytes: Uint8Array): string => crc32(bytes).toString(16).padStart(SUM_DIGITS, '0');

/** The sums that a header holds, by tensor; undefined where it holds none. */
export function sumsIn({ tensors, metadata }: Header): ReadonlyMap<string, string> | undefined {
  const { [SUMS_KEY]: text } = metadata;
  if (text?.length !== SUM_DIGITS * tensors.size || !/^[0-9a-f]*$/.test(text)) return undefined;
  const sumAt = (i: number) => text.slice(i * SUM_DIGITS, (i + 1) * SUM_DIGITS);
  return new Map([...tensors.keys()].map((name, i) => [name, sumAt(i)]));
}
