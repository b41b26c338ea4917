import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type DType, fromBytes, keep, type Tensor, tidy } from '@grpo/torch';
import { UserError } from '../config/errors.js';
import { onFile } from '../formats/file-error.js';
import { parseJsonObject } from '../formats/json.js';
import { type Checkpoint, openCheckpoint, type SafetensorsDtype } from '../formats/safetensors.js';
import { ChatTemplate } from '../text/chat-template.js';
import { Tokenizer } from '../text/tokenizer.js';
import { type DecoderConfig, parseConfig } from './config.js';
import { Decoder } from './decoder.js';
import type { Model } from './model.js';
import { parameterSpecs } from './parameters.js';

/** Files beside the weights that belong to a model and that we pass on unchanged. */
const companions = [
  'generation_config.json',
  'tokenizer.json',
  'tokenizer_config.json',
  'special_tokens_map.json',
  'added_tokens.json',
  'chat_template.jinja',
];

const dtypes: Partial<Record<SafetensorsDtype, DType>> = {
  F64: 'float64',
  F32: 'float32',
  F16: 'float16',
  BF16: 'bfloat16',
};

/**
 * Loads a Hugging Face folder: `config.json`, safetensors (one file or sharded), tokenizer, chat template.
 *
 * @param options.dtype - what the weights are converted to; as stored when left out
 * @throws UserError: no such folder, a missing file, an unknown `model_type`, a tensor that is missing or has another
 * shape than the configuration says, pickled weights, a tokenizer with more ids than the embedding has rows.
 */
export function loadModel(dir: string, options: { dtype?: DType; device?: string } = {}): Model {
  if (!existsSync(dir) || !statSync(dir).isDirectory()) {
    throw new UserError(`no model folder at ${dir}`, {
      hint: 'model= takes the path of a Hugging Face folder (config.json, *.safetensors, tokenizer.json)',
    });
  }
  const configFile = join(dir, 'config.json');
  const configJson = readJson(configFile);
  const config = parseConfig(configJson, configFile);
  const tokenizer = Tokenizer.load(dir);
  if (tokenizer.vocabSize > config.vocabSize) {
    throw new UserError(
      `${dir}: the tokenizer has ids up to ${tokenizer.vocabSize - 1}, the model's embedding only ${config.vocabSize} rows`,
      { hint: 'the folder mixes files of two models, or tokens were added without resizing the embedding' },
    );
  }
  const files = new Map(
    companions
      .filter((name) => existsSync(join(dir, name)))
      .map((name) => [name, readFileSync(join(dir, name))]),
  );
  return {
    decoder: new Decoder(config, loadParameters(dir, config, options)),
    tokenizer,
    template: ChatTemplate.load(dir),
    endIds: endIds(dir, configJson, tokenizer),
    configJson,
    files,
  };
}

function readJson(file: string): Record<string, unknown> {
  return parseJsonObject(
    file,
    'the file',
    onFile('read', file, () => readFileSync(file)),
  );
}

/** The tensors of a checkpoint by name, projections as [out, in]. */
function loadParameters(
  dir: string,
  config: DecoderConfig,
  { dtype, device = 'cpu' }: { dtype?: DType; device?: string },
): Map<string, Tensor> {
  using checkpoint = openCheckpoint(dir);
  const stored = storedNames(checkpoint);
  const parameters = new Map<string, Tensor>();
  for (const [name, spec] of parameterSpecs(config)) {
    const source = stored(name);
    if (!source)
      throw new UserError(`${dir}: the checkpoint has no tensor '${name}'`, {
        hint: 'config.json describes another model than the weights',
      });
    const info = checkpoint.info(source);
    const from = dtypes[info.dtype];
    if (!from)
      throw new UserError(
        `${dir}: tensor '${name}' holds ${info.dtype}, weights must be ${Object.keys(dtypes).join(', ')}`,
      );
    if (info.shape.join() !== spec.shape.join()) {
      throw new UserError(
        `${dir}: tensor '${name}' has shape [${info.shape}], config.json asks for [${spec.shape}]`,
      );
    }
    const bytes = new Uint8Array(info.end - info.begin);
    checkpoint.readInto(source, bytes);
    parameters.set(
      name,
      tidy(() => {
        const raw = fromBytes(bytes, info.shape, from);
        return keep((spec.transposed ? raw.t().contiguous() : raw).to(dtype ?? from).toDevice(device));
      }),
    );
  }
  return parameters;
}

/** GPT-2's older checkpoints leave out the `transformer.` in front. */
function storedNames(checkpoint: Checkpoint): (name: string) => string | undefined {
  const names = new Set(checkpoint.names());
  return (name) => [name, name.replace(/^transformer\./, '')].find((candidate) => names.has(candidate));
}

/** Every id that may end a turn: the generation settings' list, else the model's, else the tokenizer's. */
function endIds(dir: string, configJson: Record<string, unknown>, tokenizer: Tokenizer): ReadonlySet<number> {
  const file = join(dir, 'generation_config.json');
  const generation = existsSync(file) ? readJson(file) : {};
  const found = generation.eos_token_id ?? configJson.eos_token_id ?? tokenizer.eosId;
  const ids = Array.isArray(found) ? found : found === undefined || found === null ? [] : [found];
  for (const id of ids) {
    if (!Number.isInteger(id) || id < 0)
      throw new UserError(`${dir}: eos_token_id must be token ids, found ${JSON.stringify(id)}`);
  }
  if (ids.length === 0) {
    throw new UserError(
      `${dir}: no end token: neither generation_config.json, config.json nor the tokenizer names one`,
      {
        hint: 'set eos_token_id in generation_config.json; without it no completion can end',
      },
    );
  }
  // What the tokenizer calls its end comes first: it is the one that training appends.
  const own = tokenizer.eosId;
  return new Set(own !== undefined && ids.includes(own) ? [own, ...ids] : ids);
}
