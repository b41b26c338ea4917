import type { TokenizerModel } from './tokenizer-model.js';
import type { TokenizerParts } from './tokenizer-parts.js';

/** A token that is found in a text as it stands, before the model sees the text. */
export interface AddedToken {
  id: number;
  content: string;
  /** Whether it is left out of a text that is shown without special tokens. */
  special: boolean;
  /** Whether it is looked for in the normalised text, not in the text as it came. */
  normalized: boolean;
  /** Whether it takes the white space in front of it, or behind it. */
  lstrip: boolean;
  rstrip: boolean;
  /** Whether it is found only where no word goes on at its ends. */
  single_word: boolean;
}

/** What a tokenizer is made of: the content of `tokenizer.json`, checked, with the added tokens of the other files. */
export interface TokenizerDefinition extends TokenizerParts {
  model: TokenizerModel;
  added_tokens: readonly AddedToken[];
}
