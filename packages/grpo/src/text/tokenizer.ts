import { Tokenizer as HuggingFaceTokenizer } from '@huggingface/tokenizers';
import { FormatError } from '../formats/format-error.js';
import { byteAlphabet } from './byte-alphabet.js';
import { readTokenizerFiles, type TokenizerFiles, type TokenName } from './tokenizer-files.js';

/** What we use of the library; its own types do not resolve in ES modules and would be `any`. */
interface Engine {
  readonly pre_tokenizer: PreTokenizer | null;
  encode(text: string, options: { add_special_tokens: boolean }): { ids: number[] };
  decode(ids: number[], options: { clean_up_tokenization_spaces: boolean }): string;
  token_to_id(token: string): number | undefined;
  id_to_token(id: number): string | undefined;
}

/** A sequence has `tokenizers`; ByteLevel has `use_regex` and `pattern`. */
interface PreTokenizer {
  readonly tokenizers?: (PreTokenizer | null)[];
  readonly use_regex?: boolean;
  pattern?: RegExp;
}

/** A byte-level BPE tokenizer of a Hugging Face folder: text to ids and back, equal to the Rust library's. */
export class Tokenizer {
  /** The largest id + 1, added tokens included; a model's embedding may have more rows, never fewer. */
  readonly vocabSize: number;
  /** Whether the tokenizer's post-processor puts a BOS in front of plain text. */
  readonly addsBos: boolean;
  /** The named tokens as text, by the names that chat templates use: `bos_token`, `eos_token`, … */
  readonly namedTokens: Readonly<Partial<Record<TokenName, string>>>;

  readonly #engine: Engine;
  readonly #added: ReadonlyMap<number, { content: string; special: boolean }>;

  private constructor({ file, definition, config, named }: TokenizerFiles) {
    this.namedTokens = named;
    this.#added = new Map(definition.added_tokens.map((token) => [token.id, token]));
    requireAllBytes(file, definition.model.vocab);
    try {
      this.#engine = new HuggingFaceTokenizer(definition, config);
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new FormatError(file, `this tokenizer cannot be built: ${reason}`, { cause });
    }
    mendWhitespace(this.#engine.pre_tokenizer);
    this.vocabSize = 1 + largest(this.#added.keys(), largest(Object.values(definition.model.vocab), -1));
    this.addsBos = this.#probeBos(file);
  }

  /**
   * Reads the tokenizer of a model folder.
   * @throws FileError, FormatError: a file is missing, broken, or describes an unsupported kind of tokenizer.
   */
  static load(dir: string): Tokenizer {
    return new Tokenizer(readTokenizerFiles(dir));
  }

  get bosToken(): string | undefined {
    return this.namedTokens.bos_token;
  }
  get eosToken(): string | undefined {
    return this.namedTokens.eos_token;
  }
  get padToken(): string | undefined {
    return this.namedTokens.pad_token;
  }
  get bosId(): number | undefined {
    return this.#idOf(this.bosToken);
  }
  get eosId(): number | undefined {
    return this.#idOf(this.eosToken);
  }
  get padId(): number | undefined {
    return this.#idOf(this.padToken);
  }

  /**
   * The ids of `text`. The text of a special token becomes that token's id, wherever it stands.
   * @param options.specialTokens let the post-processor add its own tokens (a BOS); off unless asked.
   */
  encode(text: string, options: { specialTokens?: boolean } = {}): number[] {
    return this.#engine.encode(text, { add_special_tokens: options.specialTokens ?? false }).ids;
  }

  /**
   * The text of `ids`, exactly: no space is cleaned up. An id that has no token (a model may have more rows than
   * its tokenizer has tokens) has no text.
   * @param options.skipSpecial leave out special tokens.
   */
  decode(ids: Iterable<number>, options: { skipSpecial?: boolean } = {}): string {
    const skip = options.skipSpecial ?? false;
    const known = Array.from(ids).filter(
      (id) => this.#engine.id_to_token(id) !== undefined && !(skip && this.isSpecial(id)),
    );
    // The engine refuses an empty list.
    return known.length === 0 ? '' : this.#engine.decode(known, { clean_up_tokenization_spaces: false });
  }

  /**
   * The text of a completion: the end token, if it has one, is left out; every other special token stays visible,
   * since a tag of an answer format may be one.
   */
  decodeCompletion(ids: ArrayLike<number>, options: { endIds: ReadonlySet<number> }): string {
    const list = Array.from(ids);
    const last = list.at(-1);
    return this.decode(last !== undefined && options.endIds.has(last) ? list.slice(0, -1) : list);
  }

  /** Whether `id` is a special token: flagged so by the tokenizer, or named (`eos_token`, …). */
  isSpecial(id: number): boolean {
    return this.#added.get(id)?.special ?? false;
  }

  /** How many UTF-8 bytes of text the token stands for; 0 for an id without a token. */
  byteLength(id: number): number {
    const added = this.#added.get(id);
    // In byte-level BPE each character of a vocabulary entry stands for one byte.
    return added ? Buffer.byteLength(added.content) : (this.#engine.id_to_token(id)?.length ?? 0);
  }

  #idOf(token: string | undefined): number | undefined {
    return token === undefined ? undefined : this.#engine.token_to_id(token);
  }

  /** What stands in front of a plain text once the post-processor has seen it. */
  #probeBos(file: string): boolean {
    const whole = this.encode('a', { specialTokens: true });
    const front = whole.slice(0, whole.indexOf(this.encode('a')[0]!));
    if (front.length === 0) return false;
    if (front.length === 1 && front[0] === this.bosId) return true;
    const found = front.map((id) => JSON.stringify(this.#engine.id_to_token(id))).join(' ');
    throw new FormatError(
      file,
      `the post-processor puts ${found} in front of a text, but bos_token is ${JSON.stringify(this.bosToken ?? null)}; only a BOS is supported there`,
    );
  }
}

/**
 * The engine's own pattern uses JavaScript's `\s`, which has U+FEFF and lacks U+0085; the Rust library's is
 * Unicode's White_Space.
 */
function mendWhitespace(preTokenizer: PreTokenizer | null): void {
  preTokenizer?.tokenizers?.forEach(mendWhitespace);
  if (!preTokenizer?.use_regex || !preTokenizer.pattern) return;
  const { source, flags } = preTokenizer.pattern;
  const mended = source.replaceAll('\\s', '\\p{White_Space}').replaceAll('\\S', '\\P{White_Space}');
  preTokenizer.pattern = new RegExp(mended, flags);
}

/** Without all bytes of UTF-8 the engine would drop characters silently. */
function requireAllBytes(file: string, vocab: Record<string, number>): void {
  const inUtf8 = (byte: number) => byte !== 0xc0 && byte !== 0xc1 && byte < 0xf5;
  const missing = byteAlphabet().flatMap((char, byte) =>
    inUtf8(byte) && vocab[char] === undefined ? [`0x${byte.toString(16).padStart(2, '0')}`] : [],
  );
  if (missing.length === 0) return;
  throw new FormatError(
    file,
    `the vocabulary lacks ${missing.length} bytes (${missing.slice(0, 5).join(', ')}), so some text could not be encoded; train the tokenizer with the byte-level alphabet`,
  );
}

function largest(ids: Iterable<number>, start: number): number {
  let max = start;
  for (const id of ids) max = Math.max(max, id);
  return max;
}
