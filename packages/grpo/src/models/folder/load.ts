import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { DType } from '@grpo/torch';
import { UserError } from '../../errors/user-error.js';
import { readWhole } from '../../formats/read-file.js';
import { modelFolder } from '../../hub/model-folder.js';
import type { Watch } from '../../progress/watch.js';
import type { DecoderConfig } from '../config.js';
import { OwningDecoder } from '../decoder.js';
import { baseOf, isAdapter, loadAdapter } from '../lora/adapter-folder.js';
import { initLora } from '../lora/init-lora.js';
import type { Lora } from '../lora/lora.js';
import type { LoadedModel } from '../model.js';
import { parameterSpecs } from '../parameters.js';
import { endIdsOf, type ModelFolder, readModelFolder, requireFolder } from './folder.js';
import { loadParameters } from './load-parameters.js';

/** More than any file beside the weights has. */
const MAX_COMPANION_BYTES = 128 * 2 ** 20;

/** Files beside the weights that belong to a model and that we pass on unchanged. */
const companions = [
  'generation_config.json',
  'tokenizer.json',
  'tokenizer.model',
  'tokenizer_config.json',
  'special_tokens_map.json',
  'added_tokens.json',
  'chat_template.jinja',
];

/** Where adapters come from: a folder of PEFT's, or fresh ones. */
export type LoraSource =
  | { adapter: string }
  | { rank: number; alpha: number; targets?: readonly string[] | undefined; seed: number };

export interface LoadOptions {
  /** Dtype that the weights are converted to; as stored when left out. */
  dtype?: DType;
  device?: string;
  /** Called with everything but the weights, before they are read; an error that it throws ends the loading. */
  beforeWeights?: ((folder: ModelFolder) => void) | undefined;
  /** Adapters on the model; without it there are none, unless the folder is an adapter itself. */
  lora?: LoraSource;
  watch?: Watch | undefined;
}

/** A model whose weights are not read yet. */
export interface UnloadedModel {
  /** Of the model itself, where it is an adapter's. */
  dir: string;
  folder: ModelFolder;
  /** Any of these ids ends a completion. The first is the one that SFT appends. */
  endIds: ReadonlySet<number>;
  /** The adapters, loaded. */
  lora: Lora | undefined;
}

/**
 * Loads a Hugging Face folder, or `ORG/NAME` from the local Hugging Face cache: `config.json`, safetensors (one file or sharded), tokenizer, chat template.
 * Of the folder of an adapter, the model that it names, with the adapter.
 *
 * @throws UserError: no such folder, an unknown `model_type`, an impossible configuration, a tensor that is missing or
 * has another shape than the configuration says, a tokenizer with more ids than the embedding has rows, no end token.
 * FileError: a missing file. FormatError: a broken file, pickled weights.
 */
export function loadModel(model: string, options: LoadOptions = {}): LoadedModel {
  const { dir, folder, endIds, lora } = openModelFolder(model, options);
  const { configJson, config, tokenizer, template } = folder;
  const files = new Map(
    companions
      .filter((name) => existsSync(join(dir, name)))
      .map((name) => [name, readWhole(join(dir, name), 'the file', MAX_COMPANION_BYTES)]),
  );
  const decoder = new OwningDecoder(config, loadParameters(dir, parameterSpecs(config), options), lora);
  return { decoder, tokenizer, template, endIds, configJson, files };
}

/**
 * Finds a model as {@link loadModel} does, and reads everything but its weights.
 *
 * @throws as `loadModel` does
 */
export function openModelFolder(
  model: string,
  options: Omit<LoadOptions, 'dtype' | 'watch'> = {},
): UnloadedModel {
  const dir = modelFolder(model);
  requireFolder(dir);
  if (isAdapter(dir)) return openAdapted(dir, options);
  const folder = readModelFolder(dir);
  const endIds = endIdsOf(folder);
  // Whatever takes long comes last: every other error of the folder has been reported by now.
  options.beforeWeights?.(folder);
  const { device = 'cpu', lora: source } = options;
  const lora = source && openLora(source, folder.config, device, model);
  return { dir, folder, endIds, lora };
}

/** The model that an adapter names, with the adapter. */
function openAdapted(adapter: string, options: LoadOptions): UnloadedModel {
  const base = baseOf(adapter);
  const hint = `If that model is elsewhere: model=MODEL lora.adapter=${adapter}`;
  const wrong = (problem: string, cause?: unknown) =>
    new UserError(`${adapter} is an adapter for ${base}: ${problem}`, { hint, cause });
  if (options.lora) throw wrong('it cannot be the base model of another adapter');
  let dir: string;
  try {
    dir = modelFolder(base);
  } catch (error) {
    throw error instanceof UserError ? wrong(error.message, error) : error;
  }
  if (isAdapter(dir)) throw wrong('that is an adapter too');
  return openModelFolder(base, { ...options, lora: { adapter } });
}

function openLora(source: LoraSource, config: DecoderConfig, device: string, base: string): Lora {
  if ('adapter' in source) return loadAdapter(source.adapter, { config, device }, base);
  const { seed, ...settings } = source;
  return initLora(config, { ...settings, base }, { seed, device });
}
