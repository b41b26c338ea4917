import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { FormatError } from '../errors/format-error.js';
import { excerpt, printable } from '../errors/printable.js';
import { describeJson, readJsonObject } from '../formats/json.js';
import { type BpeModel, checkModel, requireOneTextPerId } from './bpe-model.js';
import { checkParts } from './tokenizer-parts.js';

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

const addedToken = z.looseObject({
  content: z.string().min(1),
  special: z.boolean().default(false),
  single_word: z.boolean().default(false),
});

const definitionFile = z.looseObject({
  model: z.looseObject({ type: z.string().nullish() }),
  decoder: z.looseObject({ type: z.string() }).nullish(),
  added_tokens: z.array(addedToken.extend({ id: z.int().min(0) })).default([]),
});

const configFile = z.looseObject({
  ...Object.fromEntries(TOKEN_NAMES.map((name) => [name, tokenText.nullish()])),
  added_tokens_decoder: z.record(z.string().regex(/^\d{1,15}$/), addedToken).default({}),
  additional_special_tokens: z.array(tokenText).nullish(),
  // Newer files name the list so; a record gives each extra token a name of its own.
  extra_special_tokens: z.union([z.array(tokenText), z.record(z.string(), tokenText)]).nullish(),
});

type Definition = z.infer<typeof definitionFile>;

/** Content of a tokenizer folder, checked and merged. */
export interface TokenizerFiles {
  /** `tokenizer.json`, for messages. */
  file: string;
  /** Its content, with the added tokens of the other files. */
  definition: Definition & { model: BpeModel };
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
  const definition = check(file, definitionFile, readJsonObject(file, 'the tokenizer'));
  refuseOtherKinds(file, definition);
  const model = checkModel(file, definition.model);
  checkParts(file, definition);

  const configPath = join(dir, 'tokenizer_config.json');
  const config = readJsonObject(configPath, 'the tokenizer configuration');
  const mapPath = join(dir, 'special_tokens_map.json');
  const map = existsSync(mapPath) ? readJsonObject(mapPath, 'the special tokens map') : {};
  const missing = Object.entries(map).filter(([key]) => config[key] === undefined || config[key] === null);
  const settings = check(configPath, configFile, { ...config, ...Object.fromEntries(missing) });

  const added = new Map(definition.added_tokens.map((token) => [token.content, token]));
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
      if (!added.has(content)) added.set(content, { content, id, special: false, single_word: false });
    }
  }

  const named: Partial<Record<TokenName, string>> = {};
  for (const name of TOKEN_NAMES) {
    const text = settings[name];
    if (typeof text === 'string' && text !== '') named[name] = text;
  }
  const extra = settings.extra_special_tokens ?? [];
  const specials = [
    ...Object.values(named),
    ...(settings.additional_special_tokens ?? []),
    ...Object.values(extra),
  ];
  for (const content of specials) {
    const token = added.get(content);
    const id = token?.id ?? (Object.hasOwn(model.vocab, content) ? model.vocab[content] : undefined);
    if (id === undefined) {
      throw new FormatError(
        configPath,
        `the special token ${excerpt(content)} is not in the vocabulary of tokenizer.json`,
      );
    }
    added.set(content, { single_word: false, content, ...token, id, special: true });
  }
  requireOneTextPerId(file, model, added.values());
  return { file, definition: { ...definition, model, added_tokens: [...added.values()] }, named };
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
function refuseOtherKinds(file: string, { model, decoder, added_tokens }: Definition): void {
  // Old files leave the type out; merges tell.
  if (model.type == null && Array.isArray(model.merges)) model.type = 'BPE';
  if (model.type !== 'BPE' || decoder?.type !== 'ByteLevel') {
    const [found, decodes] = [excerpt(model.type ?? 'none'), excerpt(decoder?.type ?? 'none')];
    throw new FormatError(
      file,
      `this is a tokenizer of model ${found} with decoder ${decodes}; supported is byte-level BPE (GPT-2, Llama 3, Qwen): model BPE with decoder ByteLevel`,
    );
  }
  const word = added_tokens.find((token) => token.single_word);
  if (word !== undefined) {
    throw new FormatError(file, `added token ${excerpt(word.content)}: single_word is not supported`);
  }
}
