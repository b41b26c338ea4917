/** The functions of node:zlib that the readers use. */
import { Gunzip } from 'fflate';

export const constants = { Z_SYNC_FLUSH: 2 };

/** As much as is there: a file that a crash cut off has no end. */
export function gunzipSync(bytes: Uint8Array, { maxOutputLength }: { maxOutputLength: number }): Uint8Array {
  const parts: Uint8Array[] = [];
  let length = 0;
  const gunzip = new Gunzip((part) => {
    length += part.length;
    if (length > maxOutputLength) throw new RangeError(`more than ${maxOutputLength} bytes when unpacked`);
    parts.push(part);
  });
  gunzip.push(bytes, false);
  return Buffer.concat(parts);
}

const TABLE = Uint32Array.from({ length: 256 }, (_, value) => {
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? 0xedb88320 ^ (value >>> 1) : value >>> 1;
  return value;
});

export function crc32(bytes: Uint8Array, from = 0): number {
  let sum = ~from;
  for (const byte of bytes) sum = TABLE[(sum ^ byte) & 0xff]! ^ (sum >>> 8);
  return ~sum >>> 0;
}
