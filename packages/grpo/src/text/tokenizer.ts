import { FormatError } from '../errors/format-error.js';
import { printable } from '../errors/printable.js';
import { UserError } from '../errors/user-error.js';
import { byteAlphabet } from './byte-alphabet.js';
import { buildEngine, type Engine } from './tokenizer-engine.js';
import { readTokenizerFiles, type TokenizerFiles, type TokenName } from './tokenizer-files.js';
import { tokensOf } from './tokenizer-model.js';

/** Goes through every part of a tokenizer: some of the engine's fail at a text only. */
const PROBE = " Ab's 12\n\té\u{1f600}  x.";

const BYTE_OF = new Map(byteAlphabet().map((char, byte) => [char, byte]));

/** A byte-level BPE tokenizer of a Hugging Face folder: text to ids and back, equal to the Rust library's. */
export class Tokenizer {
  /** The largest id + 1, added tokens included; a model's embedding may have more rows, never fewer. */
  readonly vocabSize: number;
  /** Whether the tokenizer's post-processor puts a BOS in front of plain text. */
  readonly addsBos: boolean;
  /** The named tokens as text, by the names that chat templates use: `bos_token`, `eos_token`, … */
  readonly namedTokens: Readonly<Partial<Record<TokenName, string>>>;

  readonly #engine: Engine;
  readonly #bytes = new Map<number, Buffer>();
  readonly #added: ReadonlyMap<number, { content: string; special: boolean }>;

  private constructor(files: TokenizerFiles) {
    const { file, definition, named } = files;
    this.namedTokens = named;
    this.#added = new Map(definition.added_tokens.map((token) => [token.id, token]));
    const tokens = new Map(tokensOf(definition.model));
    requireAllBytes(file, tokens);
    this.#engine = inEngine(file, () => buildEngine(files));
    this.vocabSize = 1 + largest(this.#added.keys(), largest(tokens.values(), -1));
    this.addsBos = inEngine(file, () => {
      this.decode(this.encode(PROBE, { specialTokens: true }));
      return this.#probeBos(file);
    });
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
  /** The token that stands at a hidden place of a masked-diffusion model. */
  get maskId(): number | undefined {
    return this.#idOf(this.namedTokens.mask_token);
  }

  /**
   * The ids of `text`. The text of a special token becomes that token's id, wherever it stands.
   * @param options.specialTokens let the post-processor add its own tokens (a BOS); off unless asked.
   */
  encode(text: string, options: { specialTokens?: boolean } = {}): number[] {
    const half = text.search(/\p{Surrogate}/u);
    if (half >= 0) {
      const code = text.charCodeAt(half).toString(16).toUpperCase();
      throw new UserError(
        `the text holds half a character (the lone surrogate U+${code} at position ${half + 1}), which no tokenizer can read`,
      );
    }
    return this.#engine.encode(text, { add_special_tokens: options.specialTokens ?? false }).ids;
  }

  /** At least as many tokens as `text` has: one for each byte, and for a space that the tokenizer puts in front. */
  mostTokens(text: string): number {
    // A tokenizer may compose characters; of NFC no other form is supported.
    return 1 + Math.max(Buffer.byteLength(text), Buffer.byteLength(text.normalize('NFC')));
  }

  /**
   * The text of `ids`, exactly: no space is cleaned up. An id that has no token (a model may have more rows than
   * its tokenizer has tokens) has no text.
   * @param options.skipSpecial leave out special tokens.
   */
  decode(ids: Iterable<number>, options: { skipSpecial?: boolean } = {}): string {
    const parts: Buffer[] = [];
    for (const id of ids) if (!(options.skipSpecial && this.isSpecial(id))) parts.push(this.bytesOf(id));
    // Bytes that are not UTF-8 become U+FFFD; a BOM is text like any other.
    return new TextDecoder('utf-8', { ignoreBOM: true }).decode(Buffer.concat(parts));
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

  /** The texts of the special tokens, by id. */
  get specialTokens(): Record<number, string> {
    const special = [...this.#added].filter(([, token]) => token.special);
    return Object.fromEntries(special.map(([id, { content }]) => [id, content]));
  }

  /**
   * The bytes of text that a token stands for; none for an id without a token. In byte-level BPE each character of a token
   * stands for one byte; a token with any other character is as it is.
   */
  bytesOf(id: number): Buffer {
    const known = this.#bytes.get(id);
    if (known) return known;
    const token = this.#engine.id_to_token(id) ?? '';
    const bytes = Array.from(token, (char) => BYTE_OF.get(char) ?? -1);
    const found = bytes.includes(-1) ? Buffer.from(token) : Buffer.from(bytes);
    this.#bytes.set(id, found);
    return found;
  }

  #idOf(token: string | undefined): number | undefined {
    return token === undefined ? undefined : this.#engine.token_to_id(token);
  }

  /** Whether the post-processor puts the BOS in front of a plain text. @throws FormatError for another token there */
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

/** Turns an error of the engine into an error of the file. */
function inEngine<T>(file: string, body: () => T): T {
  try {
    return body();
  } catch (cause) {
    if (cause instanceof FormatError) throw cause;
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new FormatError(file, `this tokenizer cannot be used: ${printable(reason)}`, { cause });
  }
}

/** Without all bytes of UTF-8 the engine would drop characters silently. */
function requireAllBytes(file: string, ids: ReadonlyMap<string, number>): void {
  const inUtf8 = (byte: number) => byte !== 0xc0 && byte !== 0xc1 && byte < 0xf5;
  const missing = byteAlphabet().flatMap((char, byte) =>
    inUtf8(byte) && !ids.has(char) ? [`0x${byte.toString(16).padStart(2, '0')}`] : [],
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
