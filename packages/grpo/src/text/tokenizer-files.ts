import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { FormatError } from '../errors/format-error.js';
import { excerpt, printable } from '../errors/printable.js';
import { describeJson, readJsonObject } from '../formats/json.js';
import { checkModel, requireOneTextPerId, type TokenizerModel, tokensOf } from './tokenizer-model.js';
import { readParts, type TokenizerParts } from './tokenizer-parts.js';

/** The tokens that Hugging Face gives a name, as chat templates know them. */
const TOKEN_NAMES = [
  'bos_token',
  'eos_token',
  'pad_token',
  'unk_token',
  'sep_token',
  'cls_token',
  'mask_token',
] as const;
export type TokenName = (typeof TOKEN_NAMES)[number];

const tokenText = z
  .union([z.string(), z.looseObject({ content: z.string() })])
  .transform((token) => (typeof token === 'string' ? token : token.content));

const addedToken = z
  .object({
    content: z.string().min(1),
    special: z.boolean().default(false),
    single_word: z.boolean().default(false),
    lstrip: z.boolean().default(false),
    rstrip: z.boolean().default(false),
    normalized: z.boolean().optional(),
  })
  // As the Rust library has it where a file does not say.
  .transform((token) => ({ ...token, normalized: token.normalized ?? !token.special }));

const definitionFile = z.looseObject({
  model: z.looseObject({ type: z.string().nullish() }),
  added_tokens: z.array(z.looseObject({ id: z.int().min(0) }).and(addedToken)).default([]),
});

const configFile = z.looseObject({
  ...Object.fromEntries(TOKEN_NAMES.map((name) => [name, tokenText.nullish()])),
  added_tokens_decoder: z.record(z.string().regex(/^\d{1,15}$/), addedToken).default({}),
  additional_special_tokens: z.array(tokenText).nullish(),
  // Newer files name the list so; a record gives each extra token a name of its own.
  extra_special_tokens: z.union([z.array(tokenText), z.record(z.string(), tokenText)]).nullish(),
});

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
  single_word: boolean;
}

/** What a tokenizer is made of: the content of `tokenizer.json`, with the added tokens of the other files. */
export interface TokenizerDefinition extends TokenizerParts {
  model: TokenizerModel;
  added_tokens: readonly AddedToken[];
}

/** Content of a tokenizer folder, checked and merged. */
export interface TokenizerFiles {
  /** `tokenizer.json`, for messages. */
  file: string;
  definition: TokenizerDefinition;
  /** The same as the file has it. */
  raw: Record<string, unknown>;
  /** The named tokens as text. */
  named: Partial<Record<TokenName, string>>;
}

/**
 * Reads `tokenizer.json`, `tokenizer_config.json` and, where they exist, `special_tokens_map.json` and
 * `added_tokens.json`.
 * @throws FileError when one of the first two is missing; FormatError when a file is broken or describes a
 * tokenizer other than byte-level BPE.
 */
export function readTokenizerFiles(dir: string): TokenizerFiles {
  const file = join(dir, 'tokenizer.json');
  if (!existsSync(file) && existsSync(join(dir, 'vocab.json'))) {
    throw new FormatError(
      file,
      'there is no such file, only the older vocab.json; let transformers write it: AutoTokenizer.from_pretrained(dir).save_pretrained(dir)',
    );
  }
  const content = check(file, definitionFile, readJsonObject(file, 'the tokenizer'));
  const model = checkModel(file, content.model);
  const parts = readParts(file, content);
  refuseOtherKinds(file, model, parts);
  const word = content.added_tokens.find((token) => token.single_word);
  if (word !== undefined)
    throw new FormatError(file, `added token ${excerpt(word.content)}: single_word is not supported`);

  const configPath = join(dir, 'tokenizer_config.json');
  const config = readJsonObject(configPath, 'the tokenizer configuration');
  const mapPath = join(dir, 'special_tokens_map.json');
  const map = existsSync(mapPath) ? readJsonObject(mapPath, 'the special tokens map') : {};
  const missing = Object.entries(map).filter(([key]) => config[key] === undefined || config[key] === null);
  const settings = check(configPath, configFile, { ...config, ...Object.fromEntries(missing) });

  const added = new Map<string, AddedToken>(content.added_tokens.map((token) => [token.content, token]));
  for (const [id, token] of Object.entries(settings.added_tokens_decoder)) {
    if (!added.has(token.content)) added.set(token.content, { ...token, id: Number(id) });
  }
  const addedPath = join(dir, 'added_tokens.json');
  if (existsSync(addedPath)) {
    const ids = check(
      addedPath,
      z.record(z.string().min(1), z.int().min(0)),
      readJsonObject(addedPath, 'the added tokens'),
    );
    for (const [content, id] of Object.entries(ids)) {
      if (!added.has(content)) added.set(content, { id, ...addedToken.parse({ content }) });
    }
  }

  const named: Partial<Record<TokenName, string>> = {};
  for (const name of TOKEN_NAMES) {
    const text = settings[name];
    if (typeof text === 'string' && text !== '') named[name] = text;
  }
  const extra = settings.extra_special_tokens ?? [];
  const ids = new Map(tokensOf(model));
  const specials = [
    ...Object.values(named),
    ...(settings.additional_special_tokens ?? []),
    ...Object.values(extra),
  ];
  for (const content of specials) {
    const token = added.get(content);
    const id = token?.id ?? ids.get(content);
    if (id === undefined) {
      throw new FormatError(
        configPath,
        `the special token ${excerpt(content)} is not in the vocabulary of tokenizer.json`,
      );
    }
    added.set(content, { ...(token ?? addedToken.parse({ content, special: true })), id, special: true });
  }
  requireOneTextPerId(file, model, added.values());
  const added_tokens = [...added.values()];
  return {
    file,
    definition: { model, ...parts, added_tokens },
    named,
    raw: { ...content, model: { ...content.model, type: model.type }, added_tokens },
  };
}

function check<T>(file: string, schema: z.ZodType<T>, value: unknown): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const issue = result.error.issues[0]!;
  const found = issue.path.reduce<unknown>((at, key) => (at as Record<PropertyKey, unknown>)?.[key], value);
  const problem =
    issue.code === 'invalid_type' ? `must be of type ${issue.expected}` : `is wrong (${issue.message})`;
  throw new FormatError(file, `${printable(issue.path.join('.'))} ${problem}, found ${describeJson(found)}`, {
    cause: result.error,
  });
}

/** Only kinds that tests compare with the Rust library are accepted; one that merely loads may tokenize otherwise. */
function refuseOtherKinds(file: string, model: TokenizerModel, { decoder }: TokenizerParts): void {
  if (model.type === 'BPE' && decoder.length === 1 && decoder[0]!.type === 'ByteLevel') return;
  const decodes = decoder.map(({ type }) => type).join(', ') || 'none';
  throw new FormatError(
    file,
    `this is a tokenizer of model ${excerpt(model.type)} with decoder ${excerpt(decodes)}; supported is byte-level BPE (GPT-2, Llama 3, Qwen): model BPE with decoder ByteLevel`,
  );
}
