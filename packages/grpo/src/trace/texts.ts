/** Lists of texts as tensors: JSON of a thousand long completions could not be parsed in memory. */
import { sum } from '../maths/moments.js';

/** UTF-8 of all texts, one after another, and the bytes of each; −1 where there is no text. */
export interface TextBytes {
  bytes: Uint8Array;
  lengths: Int32Array;
}

/** The lists of a record that are stored so: one text for each prompt or completion. */
export const TEXT_LISTS: ReadonlySet<string> = new Set([
  'prompts.texts',
  'prompts.answers',
  'completions.texts',
  'completions.sampledTexts',
  'rewards.replies',
]);

/** The two tensors of a list. */
export const BYTES = '.bytes';
export const LENGTHS = '.lengths';

export function bytesOf(texts: readonly (string | null)[]): TextBytes {
  const encoder = new TextEncoder();
  const lengths = Int32Array.from(texts, (text) => (text === null ? -1 : Buffer.byteLength(text)));
  const bytes = new Uint8Array(sum(lengths.map((length) => Math.max(0, length))));
  let at = 0;
  for (const text of texts) at += encoder.encodeInto(text ?? '', bytes.subarray(at)).written;
  return { bytes, lengths };
}

/** @returns undefined where lengths and bytes do not fit together, or bytes are not UTF-8 */
export function textsOf({ bytes, lengths }: TextBytes): (string | null)[] | undefined {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  const texts: (string | null)[] = [];
  let at = 0;
  for (const length of lengths) {
    if (length < -1 || at + length > bytes.length) return undefined;
    if (length < 0) texts.push(null);
    else {
      try {
        texts.push(decoder.decode(bytes.subarray(at, at + length)));
      } catch {
        return undefined;
      }
      at += length;
    }
  }
  return at === bytes.length ? texts : undefined;
}
