import { createHash } from 'node:crypto';
import type { Tokenizer } from './tokenizer.js';

/** Spaces, digits, scripts, marks that compose and code: merges and splits of tokenizers differ here first. */
const PROBE =
  "It's 1234567 a  b\n\n\tif (x) {\r\n  naïve e\u0301 Ωμέγα 東京タワー 🙂👩‍👧 <b>don't</b> 3.14e-5";

/** A hash of all tokens and of how they make up a text: tokenizers that read texts alike have the same. */
export function tokenizerFingerprint(tokenizer: Tokenizer): string {
  const hash = createHash('sha256');
  for (let id = 0; id < tokenizer.vocabSize; id++) {
    const bytes = tokenizer.bytesOf(id);
    hash.update(`${id} ${bytes.length} ${tokenizer.isSpecial(id) ? 1 : 0} `).update(bytes);
  }
  hash.update(JSON.stringify([tokenizer.encode(PROBE), tokenizer.addsBos, tokenizer.bosId, tokenizer.eosId]));
  return hash.digest('hex').slice(0, 32);
}
