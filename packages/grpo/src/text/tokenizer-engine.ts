import { AddedTokenFinder, type Stretch } from './parts/added-tokens.js';
import { Bpe } from './parts/bpe.js';
import { decoderOf, type TokenDecoder } from './parts/decoders.js';
import { normalizerOf } from './parts/normalizers.js';
import { preTokenizerOf, type Section } from './parts/pre-tokenizers.js';
import { Unigram } from './parts/unigram.js';
import type { TokenizerDefinition } from './tokenizer-definition.js';
import type { TokenizerModel } from './tokenizer-model.js';
import type { PostProcessor } from './tokenizer-parts.js';

/**
 * The way from a text to ids, step by step as the Rust library goes it: added tokens are cut out, what stands between
 * them is normalised, cut into words, and each word is given to the model.
 */
export class TokenizerEngine {
  readonly decoder: TokenDecoder;
  readonly #normalize: (text: string) => string;
  readonly #ids: ReadonlyMap<string, number>;
  readonly #addedIds: ReadonlyMap<string, number>;
  readonly #tokens: Map<number, string>;
  /** Added tokens that are found in the text as it came, and those that are found once it is normalised. */
  readonly #inText: AddedTokenFinder;
  readonly #inNormalized: AddedTokenFinder;
  readonly #words: (section: Section) => Section[];
  readonly #model: Bpe | Unigram;
  readonly #post: readonly PostProcessor[];
  /** The mark that stands for a space in words. */
  readonly #mark: string;

  /**
   * @param ids those of the model's tokens
   * @throws Error for a part that cannot be carried out here
   */
  constructor({ model, added_tokens, ...parts }: TokenizerDefinition, ids: ReadonlyMap<string, number>) {
    this.#ids = ids;
    this.#addedIds = new Map(added_tokens.map(({ content, id }) => [content, id]));
    this.#normalize = normalizerOf(parts.normalizer);
    this.#tokens = new Map();
    for (const [token, id] of ids) this.#tokens.set(id, token);
    // An added token stands for the text by which it is found.
    for (const { id, content, normalized } of added_tokens)
      this.#tokens.set(id, normalized ? this.#normalize(content) : content);
    // Of two added tokens with one text the special one is meant.
    const sorted = [...added_tokens].sort((a, b) => Number(b.special) - Number(a.special));
    const [late, early] = [true, false].map((wanted) =>
      sorted.filter(({ normalized }) => normalized === wanted),
    );
    this.#inText = new AddedTokenFinder(early!.map((token) => [token.content, token]));
    this.#inNormalized = new AddedTokenFinder(late!.map((token) => [this.#tokens.get(token.id)!, token]));
    this.#words = preTokenizerOf(parts.pre_tokenizer);
    this.#model = modelOf(model, ids);
    this.decoder = decoderOf(parts.decoder);
    this.#post = parts.post_processor;
    const metaspace = parts.pre_tokenizer.find(({ type }) => type === 'Metaspace');
    this.#mark = metaspace?.type === 'Metaspace' ? metaspace.replacement : ' ';
  }

  /** The ids of a text, without those that the post-processor adds. */
  encode(text: string): number[] {
    const ids: number[] = [];
    for (const stretch of this.#stretches(text)) {
      if (stretch.id !== undefined) ids.push(stretch.id);
      else
        for (const word of this.#words(stretch)) for (const id of this.#model.encode(word.text)) ids.push(id);
    }
    return ids;
  }

  /** At least as many ids as a text has: one for each byte of what the model sees, marks for spaces included. */
  mostIds(text: string): number {
    const markBytes = Buffer.byteLength(this.#mark);
    let most = 0;
    for (const stretch of this.#stretches(text)) {
      if (stretch.id !== undefined) most++;
      // One more space may stand in front.
      else most += markBytes + Buffer.byteLength(stretch.text.replaceAll(' ', this.#mark));
    }
    return most;
  }

  *#stretches(text: string): Generator<Stretch> {
    for (const outer of this.#inText.split(text, true)) {
      if (outer.id !== undefined) yield outer;
      else yield* this.#inNormalized.split(this.#normalize(outer.text), outer.isFirst);
    }
  }

  /** The ids of a text with those that the post-processor adds. */
  processed(ids: readonly number[]): number[] {
    return this.#post.reduce<number[]>(
      (all, part) => {
        if (part.type !== 'TemplateProcessing') return all;
        return part.single.flatMap((item) =>
          'Sequence' in item ? all : part.special_tokens[item.SpecialToken.id]!.ids,
        );
      },
      [...ids],
    );
  }

  tokenOf(id: number): string | undefined {
    return this.#tokens.get(id);
  }

  idOf(token: string): number | undefined {
    return this.#addedIds.get(token) ?? this.#ids.get(token);
  }
}

function modelOf(model: TokenizerModel, ids: ReadonlyMap<string, number>): Bpe | Unigram {
  if (model.type === 'BPE') return new Bpe(model, ids);
  const { unk_id } = model;
  if (unk_id === null || unk_id === undefined)
    throw new Error('model.unk_id is missing, so some text could not be encoded');
  return new Unigram({ ...model, unk_id }, ids);
}
