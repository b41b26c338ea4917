import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { UserError } from '../../errors/user-error.js';
import { readJsonObject } from '../../formats/json.js';
import { modelFolder } from '../../hub/model-folder.js';
import { ChatTemplate } from '../../text/chat-template.js';
import { Tokenizer } from '../../text/tokenizer.js';
import type { DecoderConfig } from '../config.js';
import { ConfigFields } from '../config-fields.js';
import { parseConfig } from '../parse/parse-config.js';
import { endIds } from './end-ids.js';

/** Everything in a Hugging Face folder but the weights. */
export interface ModelFolder {
  configFile: string;
  /** `config.json` as it was read. */
  configJson: Readonly<Record<string, unknown>>;
  config: DecoderConfig;
  /** `generation_config.json` as it was read; empty where there is none. */
  generation: Readonly<Record<string, unknown>>;
  /** What each file says of the ids that end a turn, the file that decides first. */
  endSources: readonly { file: string; value: unknown }[];
  tokenizer: Tokenizer;
  template: ChatTemplate | undefined;
}

/**
 * Reads the files of a model folder beside the weights.
 *
 * @param known - the tokenizer of the folder's files, which are not read then: a large one takes seconds
 * @throws UserError: an unknown `model_type`, an impossible configuration, a tokenizer with more ids than the embedding
 * has rows. FileError: a missing file. FormatError: a broken one.
 */
export function readModelFolder(dir: string, known?: Tokenizer): ModelFolder {
  const configFile = join(dir, 'config.json');
  if (!existsSync(configFile) && existsSync(join(dir, 'adapter_config.json'))) {
    throw new UserError(`${dir} is an adapter, not a model`, {
      hint: 'Give the model that it adapts: base_model_name_or_path in adapter_config.json',
    });
  }
  if (existsSync(dir) && !existsSync(configFile)) {
    throw new UserError(`${dir} is no model folder: it has no config.json`, {
      hint: 'A Hugging Face folder holds config.json, *.safetensors and tokenizer.json',
    });
  }
  const configJson = readJsonObject(configFile, 'the model configuration');
  const generationFile = join(dir, 'generation_config.json');
  const generation = existsSync(generationFile)
    ? readJsonObject(generationFile, 'the generation configuration')
    : {};
  let loaded = known;
  const config = parseConfig(configJson, configFile, {
    generation: new ConfigFields(generation, generationFile),
    // Only now: of a family that is not supported, the tokenizer would be refused first.
    maskToken: () => {
      loaded ??= Tokenizer.load(dir);
      return loaded.maskId;
    },
  });
  const tokenizer = loaded ?? Tokenizer.load(dir);
  if (tokenizer.vocabSize > config.vocabSize) {
    throw new UserError(
      `${dir}: the tokenizer has ids up to ${tokenizer.vocabSize - 1}, the model's embedding only ${config.vocabSize} rows`,
      { hint: 'the folder mixes files of two models, or tokens were added without resizing the embedding' },
    );
  }
  const endSources = [
    { file: generationFile, value: generation.eos_token_id },
    { file: configFile, value: configJson.eos_token_id },
    { file: join(dir, 'tokenizer_config.json'), value: tokenizer.eosId },
  ];
  const template = ChatTemplate.load(dir);
  return { configFile, configJson, config, generation, endSources, tokenizer, template };
}

/**
 * The ids that end a completion; the first is the one that SFT appends.
 *
 * @throws UserError as {@link endIds} does
 */
export const endIdsOf = ({ endSources, tokenizer, config }: ModelFolder): ReadonlySet<number> =>
  endIds(endSources, tokenizer.eosId, config.vocabSize);

/** @throws UserError when the path of a model is that of a file */
export function requireFolder(dir: string): void {
  if (!statSync(dir).isDirectory()) {
    throw new UserError(`${dir} is a file, not a model folder`, {
      hint: 'model= takes the folder that holds config.json, *.safetensors and tokenizer.json',
    });
  }
}

/**
 * The shape of a model alone: of a folder, or of `ORG/NAME` of the local Hugging Face cache.
 *
 * @throws UserError, FileError, FormatError as {@link readModelFolder} does
 */
export function readShape(model: string): DecoderConfig {
  const file = join(modelFolder(model), 'config.json');
  return parseConfig(readJsonObject(file, 'the model configuration'), file);
}
