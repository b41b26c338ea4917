import { once } from '../doctor/once.js';
import { offsetsOf, type StepRecord } from '../trace/index.js';

/** A token as a reader sees it. */
export interface Piece {
  text: string;
  bytes: Uint8Array;
  special?: true;
}

const NO_TOKENS = {};

/** The place of each id in the pieces of a record. */
const placesOf = once((tokenizer: NonNullable<StepRecord['tokenizer']>) => {
  const { ids = [], lengths = [] } = tokenizer.pieces ?? {};
  return { places: new Map(Array.from(ids, (id, i) => [id, i])), offsets: offsetsOf(lengths) };
});

/** Text and bytes of a token; undefined where the record has neither its bytes nor a special token of its id. */
export function pieceOf(
  { tokenizer = NO_TOKENS }: Pick<StepRecord, 'tokenizer'>,
  id: number,
): Piece | undefined {
  const { places, offsets } = placesOf(tokenizer);
  const special = tokenizer.specialTokens?.[id];
  const i = places.get(id);
  const bytes =
    i === undefined
      ? special !== undefined && new TextEncoder().encode(special)
      : tokenizer.pieces!.bytes.slice(offsets[i], offsets[i + 1]);
  if (!bytes) return undefined;
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
  return { text, bytes, ...(special !== undefined && { special: true as const }) };
}
