import { z } from 'zod';
import { FormatError } from '../errors/format-error.js';
import { excerpt } from '../errors/printable.js';
import { describeJson, isObject } from '../formats/json.js';

const BEHAVIORS = ['Removed', 'Isolated', 'MergedWithPrevious', 'MergedWithNext', 'Contiguous'] as const;

/** A text, or a regular expression in the dialect of Oniguruma. */
const pattern = z.union([z.strictObject({ String: z.string() }), z.strictObject({ Regex: z.string() })]);
const flag = z.boolean();
const none: z.ZodType<object> = z.object({});

const metaspace = z
  .object({
    replacement: z.string().refine((text) => [...text].length === 1),
    // Older files say with a flag what newer ones say with a scheme.
    add_prefix_space: flag.nullish(),
    prepend_scheme: z.enum(['always', 'first', 'never']).nullish(),
    split: flag.nullish(),
  })
  .transform(({ replacement, add_prefix_space, prepend_scheme, split }) => ({
    replacement,
    prepend_scheme: add_prefix_space === false ? ('never' as const) : (prepend_scheme ?? 'always'),
    split: split ?? true,
  }));

/** The kinds of part that are compared with the Rust library; another one may load and tokenize otherwise. */
const NORMALIZERS = {
  NFC: none,
  NFD: none,
  NFKC: none,
  NFKD: none,
  Lowercase: none,
  StripAccents: none,
  Strip: z.object({ strip_left: flag, strip_right: flag }),
  Prepend: z.object({ prepend: z.string() }),
  Replace: z.object({ pattern, content: z.string() }),
  Precompiled: z.object({ precompiled_charsmap: z.string() }),
};
const PRE_TOKENIZERS = {
  ByteLevel: z.object({ add_prefix_space: flag.default(false), use_regex: flag.default(true) }),
  Split: z.object({ pattern, behavior: z.enum(BEHAVIORS), invert: flag.default(false) }),
  Digits: z.object({ individual_digits: flag.default(false) }),
  Metaspace: metaspace,
  WhitespaceSplit: none,
};
const DECODERS = {
  ByteLevel: none,
  ByteFallback: none,
  Fuse: none,
  Replace: z.object({ pattern, content: z.string() }),
  // What is taken from the end of a text could not be told while the text grows.
  Strip: z.object({ content: z.string(), start: z.literal([0, 1]), stop: z.literal(0) }),
  Metaspace: metaspace,
};
const POST_PROCESSORS = {
  ByteLevel: none,
  TemplateProcessing: z.object({
    single: z.array(
      z.union([
        z.object({ SpecialToken: z.object({ id: z.string() }) }),
        z.object({ Sequence: z.object({ id: z.string() }) }),
      ]),
    ),
    special_tokens: z.record(z.string(), z.object({ ids: z.array(z.int().min(0)) })),
  }),
};

type Kinds = Record<string, z.ZodType<object>>;
/** A part of one of the kinds, as an object with its `type`. */
type PartOf<K extends Kinds> = { [T in keyof K]: { type: T } & z.infer<K[T]> }[keyof K];

/** Changes a text before anything else looks at it. */
export type Normalizer = PartOf<typeof NORMALIZERS>;
/** Cuts a text into the words that the model is given one by one. */
export type PreTokenizer = PartOf<typeof PRE_TOKENIZERS>;
/** Turns tokens into text. */
export type Decoder = PartOf<typeof DECODERS>;
/** Adds tokens around those of a text. */
export type PostProcessor = PartOf<typeof POST_PROCESSORS>;

/** The parts around a tokenizer's model. What a file has in a `Sequence` stands in the list, in order; no part is an empty list. */
export interface TokenizerParts {
  normalizer: readonly Normalizer[];
  pre_tokenizer: readonly PreTokenizer[];
  decoder: readonly Decoder[];
  post_processor: readonly PostProcessor[];
}

/**
 * The parts of a `tokenizer.json`, checked.
 * @throws FormatError with the field; for a part of a kind that is not supported, by its name.
 */
export function readParts(file: string, definition: Record<string, unknown>): TokenizerParts {
  const { normalizer, pre_tokenizer, decoder, post_processor } = definition;
  return {
    normalizer: read(file, 'normalizer', normalizer, { kinds: NORMALIZERS, list: 'normalizers' }),
    pre_tokenizer: read(file, 'pre_tokenizer', pre_tokenizer, {
      kinds: PRE_TOKENIZERS,
      list: 'pretokenizers',
    }),
    decoder: read(file, 'decoder', decoder, { kinds: DECODERS, list: 'decoders' }),
    post_processor: read(file, 'post_processor', post_processor, {
      kinds: POST_PROCESSORS,
      list: 'processors',
    }),
  };
}

function read<K extends Kinds>(
  file: string,
  path: string,
  part: unknown,
  { kinds, list }: { kinds: K; list: string },
): PartOf<K>[] {
  if (part === undefined || part === null) return [];
  if (!isObject(part))
    throw new FormatError(file, `${path} must be an object with a type, found ${describeJson(part)}`);
  const { type } = part;
  if (type === 'Sequence') {
    const inner = part[list];
    if (!Array.isArray(inner))
      throw new FormatError(file, `${path}.${list} must be a list, found ${describeJson(inner)}`);
    return inner.flatMap((each, i) => read(file, `${path}.${list}.${i}`, each, { kinds, list }));
  }
  if (typeof type !== 'string' || !Object.hasOwn(kinds, type)) {
    const known = Object.keys(kinds).join(', ');
    throw new FormatError(
      file,
      `${path}: the part ${excerpt(String(type))} is not supported; supported are ${known} and Sequence`,
    );
  }
  const result = kinds[type]!.safeParse(part);
  if (result.success) return [{ ...result.data, type } as PartOf<K>];
  const [key] = result.error.issues[0]!.path as [string];
  throw new FormatError(file, `${path}.${key} must be ${formOf(key)}, found ${describeJson(part[key])}`);
}

/** The form that a field must have, in words. */
function formOf(key: string): string {
  switch (key) {
    case 'pattern':
      return '{"String": text} or {"Regex": text}';
    case 'behavior':
      return `one of ${BEHAVIORS.join(', ')}`;
    case 'prepend_scheme':
      return 'always, first or never';
    case 'replacement':
      return 'one character';
    case 'content':
    case 'prepend':
    case 'precompiled_charsmap':
      return 'text';
    case 'start':
      return '0 or 1';
    case 'stop':
      return '0';
    case 'single':
      return 'a list of {"SpecialToken": …} and {"Sequence": …}';
    case 'special_tokens':
      return 'the ids of each special token';
    default:
      return 'true or false';
  }
}
