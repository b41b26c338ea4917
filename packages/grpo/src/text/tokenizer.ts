import { FormatError } from '../errors/format-error.js';
import { printable } from '../errors/printable.js';
import { UserError } from '../errors/user-error.js';
import { byteAlphabet } from './byte-alphabet.js';
import { byteTokens } from './parts/byte-tokens.js';
import type { TokenizerDefinition } from './tokenizer-definition.js';
import { TokenizerEngine } from './tokenizer-engine.js';
import { readTokenizerFiles, type TokenizerFiles, type TokenName } from './tokenizer-files.js';

/** Goes through every part of a tokenizer: some of the engine's fail at a text only. */
const PROBE = " Ab's 12\n\té\u{1f600}  x.";

/**
 * The tokenizer of a Hugging Face folder: text to ids and back, equal to the Rust library's. BPE over bytes (GPT-2, Llama 3,
 * Qwen), BPE that falls back to bytes (Llama 2, Mistral, Gemma) or Unigram.
 */
export class Tokenizer {
  /** The largest id + 1, added tokens included; a model's embedding may have more rows, never fewer. */
  readonly vocabSize: number;
  /** Whether the tokenizer's post-processor puts a BOS in front of plain text. */
  readonly addsBos: boolean;
  /** The named tokens as text, by the names that chat templates use: `bos_token`, `eos_token`, … */
  readonly namedTokens: Readonly<Partial<Record<TokenName, string>>>;

  readonly #engine: TokenizerEngine;
  readonly #bytes = new Map<number, Buffer>();
  readonly #added: ReadonlyMap<number, { content: string; special: boolean }>;

  private constructor(files: TokenizerFiles) {
    const { file, definition, ids, named } = files;
    this.namedTokens = named;
    this.#added = new Map(definition.added_tokens.map((token) => [token.id, token]));
    requireReadable(file, definition, ids);
    this.#engine = inEngine(file, () => new TokenizerEngine(definition, ids));
    this.vocabSize = 1 + largest(this.#added.keys(), largest(ids.values(), -1));
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
    const ids = this.#engine.encode(text);
    return options.specialTokens ? this.#engine.processed(ids) : ids;
  }

  /** At least as many tokens as `text` has, found without making them. */
  mostTokens(text: string): number {
    return this.#engine.mostIds(text);
  }

  /**
   * The text of `ids`, as the Rust library gives it: no space is cleaned up, and a space that the tokenizer puts in front of
   * every text is taken away. An id that has no token (a model may have more rows than its tokenizer has tokens) has no
   * text.
   * @param options.skipSpecial leave out special tokens.
   * @param options.isInside other text stands in front of it: nothing is taken away there.
   */
  decode(ids: Iterable<number>, options: { skipSpecial?: boolean; isInside?: boolean } = {}): string {
    const tokens: string[] = [];
    for (const id of ids) {
      const token = options.skipSpecial && this.isSpecial(id) ? undefined : this.#engine.tokenOf(id);
      if (token !== undefined) tokens.push(token);
    }
    return this.#engine.decoder.text(tokens, options.isInside ?? false);
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

  /** Whether the text is looked through for `id` before the model sees it; other tokens are made by the model alone. */
  isAdded(id: number): boolean {
    return this.#added.has(id);
  }

  /** Whether `id` is one byte of a character in a tokenizer that falls back to bytes: what text it is, its neighbours tell. */
  isByte(id: number): boolean {
    const token = this.#engine.tokenOf(id);
    return token !== undefined && this.#engine.decoder.isByte(token);
  }

  /** Whether each character of a token stands for a byte: then the bytes of tokens put together are the text. */
  get isByteLevel(): boolean {
    return this.#engine.decoder.isByteLevel;
  }

  /** The texts of the special tokens, by id. */
  get specialTokens(): Record<number, string> {
    const special = [...this.#added].filter(([, token]) => token.special);
    return Object.fromEntries(special.map(([id, { content }]) => [id, content]));
  }

  /**
   * The bytes of text that a token stands for within a text; none for an id without a token. Those of a text's tokens are
   * the text, but for a space that the tokenizer put in front of it.
   */
  bytesOf(id: number): Buffer {
    const known = this.#bytes.get(id);
    if (known) return known;
    const token = this.#engine.tokenOf(id);
    const found = token === undefined ? Buffer.alloc(0) : this.#engine.decoder.bytes(token);
    this.#bytes.set(id, found);
    return found;
  }

  #idOf(token: string | undefined): number | undefined {
    return token === undefined ? undefined : this.#engine.idOf(token);
  }

  /** Whether the post-processor puts the BOS in front of a plain text. @throws FormatError for another token there */
  #probeBos(file: string): boolean {
    const whole = this.encode('a', { specialTokens: true });
    const front = whole.slice(0, whole.indexOf(this.encode('a')[0]!));
    if (front.length === 0) return false;
    if (front.length === 1 && front[0] === this.bosId) return true;
    const found = front.map((id) => JSON.stringify(this.#engine.tokenOf(id))).join(' ');
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

/** @throws FormatError where text would be lost on the way to ids or back */
function requireReadable(
  file: string,
  { model, pre_tokenizer, decoder }: TokenizerDefinition,
  ids: ReadonlyMap<string, number>,
): void {
  const [reads, writes] = [pre_tokenizer, decoder].map((parts: readonly { type: string }[]) =>
    parts.some(({ type }) => type === 'ByteLevel'),
  );
  if (decoder.length === 0 || reads !== writes) {
    const found =
      decoder.length === 0 ? 'no decoder' : `the decoder ${decoder.map(({ type }) => type).join(', ')}`;
    const wanted = reads ? 'ByteLevel' : 'another than ByteLevel';
    throw new FormatError(file, `it has ${found}; the tokens of this pre_tokenizer need ${wanted}`);
  }
  if (reads) {
    requireAllBytes(file, ids);
    return;
  }
  if (model.type === 'Unigram' || (model.unk_token !== undefined && ids.has(model.unk_token))) return;
  if (model.byte_fallback && !byteTokens(ids).includes(undefined)) return;
  throw new FormatError(
    file,
    'the vocabulary has neither an unknown token (model.unk_token) nor all bytes (byte_fallback), so some text would be dropped without a word',
  );
}

/** Without all bytes of UTF-8 characters would be dropped silently. */
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
