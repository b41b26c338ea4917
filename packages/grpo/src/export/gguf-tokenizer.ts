import { excerpt } from '../errors/printable.js';
import { UserError } from '../errors/user-error.js';
import type { GgufValue } from '../formats/gguf-writer.js';
import type { Tokenizer } from '../text/tokenizer.js';
import type { AddedToken } from '../text/tokenizer-definition.js';
import type { TokenizerFiles } from '../text/tokenizer-files.js';
import { type BpeModel, tokensOf } from '../text/tokenizer-model.js';
import { pieceScores } from './piece-scores.js';
import { preTokenizerName } from './pre-tokenizer.js';

/** Codes of `tokenizer.ggml.token_type`. */
const TYPES = { normal: 1, unknown: 2, control: 3, userDefined: 4, unused: 5, byte: 6 } as const;

/** What stands for a space in SentencePiece's tokens. */
const SPACE = '\u2581';
const BYTE_TOKEN = /^<0x[0-9A-F]{2}>$/;

/** Texts of tokens at which llama.cpp ends a completion, whatever the metadata say. */
const ALWAYS_ENDS = [
  ...['<|eot_id|>', '<|im_end|>', '<|end|>', '<|return|>', '<|call|>', '<|flush|>', '<|calls|>'],
  ...['<end_of_turn>', '<|endoftext|>', '</s>', '<|eom_id|>', '<EOT>', '_<EOT>', '[EOT]', '[EOS]'],
  ...['<|end_of_text|>', '<end_of_utterance>', '<eos>', '<turn|>', '<|tool_response>', '[e~['],
  ...['<|fim_pad|>', '<fim-pad>', '<fim_pad>', '<PAD>', '[PAD]', '<|fim_repo|>', '<|repo_name|>'],
  ...['<fim-repo>', '<REPO>', '<reponame>', '<|file_sep|>'],
];
/** Keys for the ids that end a completion; there are no more. */
const END_KEYS = ['eos_token_id', 'eot_token_id', 'eom_token_id'] as const;

/** The tokenizer in the metadata, and in which ways llama.cpp treats text otherwise, in sentences. */
export interface TokenizerMetadata {
  metadata: Map<string, GgufValue>;
  notes: string[];
}

/** A model's tokenizer, and what it is used with. */
export interface TokenizerSource {
  files: TokenizerFiles;
  tokenizer: Tokenizer;
  /** The first is the one that SFT appends. */
  endIds: ReadonlySet<number>;
  /** The Jinja text of the chat template. */
  template: string | undefined;
  /** Rows of the embedding. */
  rows: number;
}

/**
 * The metadata of a tokenizer, by which llama.cpp gives the ids that we give.
 *
 * @throws UserError for a tokenizer that llama.cpp does not have
 */
export function tokenizerMetadata(source: TokenizerSource): TokenizerMetadata {
  const { files, tokenizer, endIds, template } = source;
  const { model, decoder } = files.definition;
  const isByteLevel = decoder.some(({ type }) => type === 'ByteLevel');
  if (model.type !== 'BPE') {
    throw new UserError(`${files.file}: a Unigram tokenizer cannot be exported as GGUF`, {
      hint: 'Tokenizers that merge pairs can: byte-level BPE, and BPE that was made from a SentencePiece model.',
    });
  }
  const own = isByteLevel ? byteLevel(files, model) : sentencePiece(files, model, template !== undefined);
  const { tokens, types } = tokenTable(source, isByteLevel);
  const [end, ...otherEnds] = endIds;
  const ends = [...endIds].slice(0, END_KEYS.length);
  const metadata: Record<string, GgufValue | undefined> = {
    ...own.metadata,
    tokens: ['string[]', tokens],
    token_type: ['int32[]', types],
    scores: own.scores && ['float32[]', tokens.map((token) => own.scores!.get(token) ?? 0)],
    // Without one, llama.cpp takes the token 11 (byte-level) or 1.
    bos_token_id: ['uint32', tokenizer.bosId ?? end!],
    ...Object.fromEntries(ends.map((id, i) => [END_KEYS[i], ['uint32', id]])),
    padding_token_id: tokenizer.padId === undefined ? undefined : ['uint32', tokenizer.padId],
    add_bos_token: ['bool', tokenizer.addsBos],
    add_eos_token: ['bool', false],
  };
  return {
    metadata: new Map([
      ...Object.entries(metadata).flatMap(([key, value]): [string, GgufValue][] =>
        value ? [[`tokenizer.ggml.${key}`, value]] : [],
      ),
      ...(template === undefined ? [] : [['tokenizer.chat_template', ['string', template]] as const]),
    ]),
    notes: [...own.notes, ...addedTokenNotes(files, isByteLevel), ...endNotes(tokens, end!, otherEnds)],
  };
}

/** The part of the metadata that is of one kind of tokenizer. */
interface Kind {
  metadata: Record<string, GgufValue>;
  /** By token. */
  scores?: ReadonlyMap<string, number>;
  notes: string[];
}

function byteLevel(files: TokenizerFiles, model: BpeModel): Kind {
  const { normalizer } = files.definition;
  const other = normalizer.find(({ type }) => type !== 'NFC');
  if (other) refuseNormalizer(files, other.type);
  const isComposed = normalizer.length > 0;
  return {
    metadata: {
      model: ['string', 'gpt2'],
      pre: ['string', preTokenizerName(files, model)],
      merges: ['string[]', model.merges.map((pair) => pair.join(' '))],
    },
    notes: isComposed
      ? ['llama.cpp does not compose characters (NFC): text with separate accents has other ids there.']
      : [],
  };
}

/** BPE of whole text, in which a mark stands for each space, with bytes for what the vocabulary lacks. */
function sentencePiece(files: TokenizerFiles, model: BpeModel, isChat: boolean): Kind {
  const bytes = Object.keys(model.vocab).filter((token) => BYTE_TOKEN.test(token)).length;
  if (!model.byte_fallback || bytes < 256) {
    const found = model.byte_fallback ? `only ${bytes} of the 256 byte tokens` : 'no bytes to fall back to';
    throw new UserError(`${files.file}: this tokenizer has ${found}, and llama.cpp needs them all`, {
      hint: 'BPE that is neither byte-level nor falls back to bytes cannot be exported as GGUF.',
    });
  }
  const added = files.definition.added_tokens.map(({ content }) => content);
  // Before anything is merged, but a text has no marks then.
  const matched = new Set(added.filter((content) => !content.includes(SPACE)));
  const isMatched = (token: string) => matched.has(token) || BYTE_TOKEN.test(token);
  const { prefix, notes } = spacePrefix(files, isChat);
  const unknown = model.unk_token === undefined ? undefined : model.vocab[model.unk_token];
  return {
    metadata: {
      model: ['string', 'llama'],
      pre: ['string', 'default'],
      add_space_prefix: ['bool', prefix],
      ...(unknown !== undefined && { unknown_token_id: ['uint32', unknown] }),
    },
    scores: pieceScores(files.file, model, added, isMatched),
    notes,
  };
}

/** Whether a space is put in front of a text, and of what follows a special token. */
function spacePrefix(files: TokenizerFiles, isChat: boolean): { prefix: boolean; notes: string[] } {
  const { normalizer, pre_tokenizer } = files.definition;
  let prefix = false;
  const notes: string[] = [];
  for (const part of normalizer) {
    if (part.type === 'Prepend' && part.prepend === SPACE) prefix = true;
    else if (part.type !== 'Replace' || part.content !== SPACE) refuseNormalizer(files, part.type);
  }
  for (const part of pre_tokenizer) {
    // Spaces are marks by then: nothing is cut.
    if (part.type === 'Split' && 'String' in part.pattern && part.pattern.String === ' ') continue;
    if (part.type !== 'Metaspace' || part.replacement !== SPACE || part.split) {
      throw new UserError(`${files.file}: llama.cpp has no pre-tokenizer ${excerpt(JSON.stringify(part))}`, {
        hint: 'A tokenizer with byte fallback is exported where it merges over the whole text.',
      });
    }
    if (part.prepend_scheme === 'never') continue;
    prefix = part.prepend_scheme === 'always' || !isChat;
    notes.push(spaceNote(part.prepend_scheme, isChat));
  }
  return { prefix, notes };
}

function spaceNote(scheme: 'always' | 'first', isChat: boolean): string {
  if (scheme === 'always') return 'To a text that begins with a space llama.cpp adds another one.';
  return isChat
    ? 'llama.cpp puts no space in front of a text, as in a chat: plain text may begin with another token.'
    : 'llama.cpp puts a space in front of what follows a special token, and of text that begins with a space.';
}

function refuseNormalizer({ file }: TokenizerFiles, type: string): never {
  throw new UserError(`${file}: llama.cpp has no normalizer ${type}, so its ids would be others`);
}

/** Every row of the embedding as a token, with its type. */
function tokenTable(
  { files, rows }: TokenizerSource,
  isByteLevel: boolean,
): { tokens: string[]; types: number[] } {
  const { model, added_tokens } = files.definition;
  const tokens = Array.from({ length: rows }, (_, id) => `[PAD${id}]`);
  const types = Array.from({ length: rows }, (): number => TYPES.unused);
  for (const [token, id] of tokensOf(model)) {
    tokens[id] = token;
    types[id] = !isByteLevel && BYTE_TOKEN.test(token) ? TYPES.byte : TYPES.normal;
  }
  if (model.type === 'BPE' && !isByteLevel && model.unk_token !== undefined)
    types[model.vocab[model.unk_token]!] = TYPES.unknown;
  for (const { id, content, special } of added_tokens) {
    tokens[id] = content;
    // llama.cpp shows the marks of user-defined tokens as they are; merges make such a token, too.
    const isMarked = !isByteLevel && content.includes(SPACE) && types[id] === TYPES.normal;
    if (types[id] === TYPES.unknown || (isMarked && !special)) continue;
    types[id] = special ? TYPES.control : TYPES.userDefined;
  }
  return { tokens, types };
}

/** What llama.cpp does otherwise with added tokens: it has no flags for them. */
function addedTokenNotes({ definition }: TokenizerFiles, isByteLevel: boolean): string[] {
  const note = (has: (token: AddedToken) => boolean, say: (names: string) => string): string[] => {
    const names = definition.added_tokens.filter(has).map(({ content }) => content);
    return names.length === 0 ? [] : [say(excerpt(names.join(' ')))];
  };
  return [
    ...note(
      ({ lstrip, rstrip }) => lstrip || rstrip,
      (names) => `llama.cpp keeps white space beside ${names}; here it belongs to the token.`,
    ),
    ...note(
      ({ single_word }) => single_word,
      (names) => `llama.cpp finds ${names} within words, too.`,
    ),
    ...note(
      ({ normalized }) => normalized && !isByteLevel,
      (names) => `llama.cpp finds ${names} in a text as it stands; here spaces are marks by then.`,
    ),
  ];
}

function endNotes(tokens: readonly string[], end: number, otherEnds: readonly number[]): string[] {
  const known = [end, ...otherEnds];
  const surplus = known.slice(END_KEYS.length).filter((id) => !ALWAYS_ENDS.includes(tokens[id]!));
  const more = ALWAYS_ENDS.filter((text) => tokens.includes(text) && !known.includes(tokens.indexOf(text)));
  return [
    ...(surplus.length > 0
      ? [
          `GGUF holds ${END_KEYS.length} end tokens: at ${surplus.map((id) => tokens[id]).join(' ')} llama.cpp goes on.`,
        ]
      : []),
    ...(more.length > 0 ? [`llama.cpp ends a completion at ${more.join(' ')}, too.`] : []),
  ];
}
