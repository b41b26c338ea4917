import type { ChatTemplate } from '../text/chat-template.js';
import type { Tokenizer } from '../text/tokenizer.js';
import type { Decoder, OwningDecoder } from './decoder.js';

/** A loaded Hugging Face model folder: the decoder, and how text becomes its tokens and ends. */
export interface Model {
  decoder: Decoder;
  tokenizer: Tokenizer;
  /** Absent for a base model: it takes plain-text prompts only. */
  template: ChatTemplate | undefined;
  /** Any of these ids ends a completion. The first is the one that SFT appends. */
  endIds: ReadonlySet<number>;
  /** `config.json` as it was read. */
  configJson: Readonly<Record<string, unknown>>;
  /** The folder's other files (tokenizer, template, generation settings), which a saved model carries along. */
  files: ReadonlyMap<string, Uint8Array>;
}

/** A model as it was loaded: its tensors go with its decoder. */
export interface LoadedModel extends Model {
  decoder: OwningDecoder;
}
