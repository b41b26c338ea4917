/** Snappy without WebAssembly, which the page's security policy refuses to compile. */
import { snappyUncompress as uncompress } from 'hyparquet';

export function snappyUncompress(input: Uint8Array, length: number): Uint8Array {
  const output = new Uint8Array(length);
  uncompress(input, output);
  return output;
}

export const snappyUncompressor = () => snappyUncompress;
