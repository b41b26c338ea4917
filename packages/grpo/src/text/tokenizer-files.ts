import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import { z } from 'zod';
import { FormatError } from '../errors/format-error.js';
import { excerpt, printable } from '../errors/printable.js';
import { describeJson, readJsonObject } from '../formats/json.js';
import { readSentencePiece } from './sentencepiece-file.js';
import type { AddedToken, TokenizerDefinition } from './tokenizer-definition.js';
import { checkModel, requireOneTextPerId, tokensOf } from './tokenizer-model.js';
import { readParts } from './tokenizer-parts.js';

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
  // Of tokenizers that were made of a SentencePiece model: whether each stretch of text begins with a mark.
  legacy: z.boolean().nullish(),
  add_bos_token: z.boolean().nullish(),
});

const addedFile = z.record(z.string().min(1), z.int().min(0));

const tokenId = z.union([z.int(), z.array(z.int())]).nullish();
const modelFile = z.object({ bos_token_id: tokenId, eos_token_id: tokenId, pad_token_id: tokenId });

/** Content of a tokenizer folder, checked and merged. */
export interface TokenizerFiles {
  /** `tokenizer.json` or `tokenizer.model`, for messages. */
  file: string;
  definition: TokenizerDefinition;
  /** The ids of the model's tokens. */
  ids: ReadonlyMap<string, number>;
  /** The named tokens as text. */
  named: Partial<Record<TokenName, string>>;
}

/**
 * Reads a tokenizer: `tokenizer.json`, or else SentencePiece's `tokenizer.model`; `tokenizer_config.json`; and, where they
 * exist, `special_tokens_map.json` and `added_tokens.json`. Without a configuration the ids of `config.json` name the tokens.
 * @throws FileError when there is no tokenizer; FormatError when a file is broken or describes a tokenizer with a part that
 * is not supported.
 */
export function readTokenizerFiles(dir: string): TokenizerFiles {
  const configPath = join(dir, 'tokenizer_config.json');
  const config = readOptional(configPath, 'the tokenizer configuration');
  const mapPath = join(dir, 'special_tokens_map.json');
  const map = readOptional(mapPath, 'the special tokens map');
  const missing = Object.entries(map ?? {}).filter(([key]) => (config?.[key] ?? null) === null);
  const settings = check(configPath, configFile, { ...config, ...Object.fromEntries(missing) });

  const { file, definition, ownNames } = readDefinition(dir, settings);
  const { model, added_tokens } = definition;
  const ids = tokensOf(model);
  const added = new Map<string, AddedToken>(added_tokens.map((token) => [token.content, token]));
  for (const [id, token] of Object.entries(settings.added_tokens_decoder)) {
    if (!added.has(token.content)) added.set(token.content, { ...token, id: Number(id) });
  }
  const addedPath = join(dir, 'added_tokens.json');
  const more = readOptional(addedPath, 'the added tokens') ?? {};
  for (const [content, id] of Object.entries(check(addedPath, addedFile, more))) {
    if (!added.has(content)) added.set(content, { id, ...addedToken.parse({ content }) });
  }

  const named: Partial<Record<TokenName, string>> = {};
  for (const name of TOKEN_NAMES) {
    const text = settings[name];
    if (typeof text === 'string' && text !== '') named[name] = text;
  }
  const others =
    ownNames ??
    (config === undefined && map === undefined
      ? namesByIds(dir, configPath, new Map([...ids, ...idsOf(added)].map(([text, id]) => [id, text])))
      : {});
  for (const name of TOKEN_NAMES)
    if (settings[name] === undefined && others[name] !== undefined) named[name] = others[name];
  const extra = settings.extra_special_tokens ?? [];
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
        `the special token ${excerpt(content)} is not in the vocabulary of ${basename(file)}`,
      );
    }
    added.set(content, { ...(token ?? addedToken.parse({ content, special: true })), id, special: true });
  }
  requireOneTextPerId(file, ids, added.values());
  return { file, definition: { ...definition, added_tokens: [...added.values()] }, ids, named };
}

/** The tokenizer itself, and how it names its tokens where it does. */
function readDefinition(
  dir: string,
  { legacy, add_bos_token }: z.infer<typeof configFile>,
): { file: string; definition: TokenizerDefinition; ownNames?: Partial<Record<TokenName, string>> } {
  const file = join(dir, 'tokenizer.json');
  if (!existsSync(file)) {
    const model = join(dir, 'tokenizer.model');
    if (existsSync(model)) {
      const { definition, named } = readSentencePiece(model, {
        legacy: legacy !== false,
        addsBos: add_bos_token !== false,
      });
      return { file: model, definition, ownNames: named };
    }
    throw new FormatError(
      file,
      existsSync(join(dir, 'vocab.json'))
        ? 'there is no such file, only the older vocab.json; let transformers write it: AutoTokenizer.from_pretrained(dir).save_pretrained(dir)'
        : 'there is no such file, and no tokenizer.model; copy it from where the model comes from, or fetch the model as a whole: grpo fetch NAME',
    );
  }
  const content = check(file, definitionFile, readJsonObject(file, 'the tokenizer'));
  const model = checkModel(file, content.model);
  return { file, definition: { model, ...readParts(file, content), added_tokens: content.added_tokens } };
}

/**
 * The tokens that a folder without a tokenizer's configuration means, by the ids of the model's.
 * @throws FormatError when these name no end token
 */
function namesByIds(
  dir: string,
  configPath: string,
  textOf: ReadonlyMap<number, string>,
): Partial<Record<TokenName, string>> {
  const path = join(dir, 'config.json');
  const ids = check(path, modelFile, readOptional(path, 'the configuration') ?? {});
  const named = Object.entries(ids).flatMap(([name, id]) => {
    const text = textOf.get([id].flat()[0] ?? -1);
    return text === undefined ? [] : [[name.replace('_id', ''), text]];
  });
  if (!named.some(([name]) => name === 'eos_token'))
    throw new FormatError(
      configPath,
      'no such file, and neither special_tokens_map.json nor config.json (eos_token_id) names the end token; write one: {"bos_token": …, "eos_token": …}',
    );
  return Object.fromEntries(named);
}

const idsOf = (added: ReadonlyMap<string, AddedToken>): [string, number][] =>
  Array.from(added, ([text, { id }]) => [text, id]);

/** A file that a folder may lack. */
function readOptional(path: string, part: string): Record<string, unknown> | undefined {
  return existsSync(path) ? readJsonObject(path, part) : undefined;
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
