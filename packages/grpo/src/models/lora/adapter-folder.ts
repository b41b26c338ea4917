/** Adapters as PEFT keeps them: a folder with `adapter_config.json` and `adapter_model.safetensors`. */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { byteParts, fromBytes, keep, type Tensor, tidy } from '@grpo/torch';
import { UserError } from '../../errors/user-error.js';
import { writeFileAtomic } from '../../formats/atomic-file.js';
import { describeJson, readJsonObject } from '../../formats/json.js';
import { makeFolder } from '../../formats/make-folder.js';
import { SafetensorsFile, writeSafetensors } from '../../formats/safetensors.js';
import { parseReference } from '../../hub/repository.js';
import type { DecoderConfig } from '../config.js';
import { ConfigFields } from '../config-fields.js';
import type { Decoder } from '../decoder.js';
import { floatTypes } from '../folder/load-parameters.js';
import { namesOf, parameterSpecs } from '../parameters.js';
import { adaptable, isTarget } from './adaptable.js';
import { Lora } from './lora.js';

export const ADAPTER_CONFIG = 'adapter_config.json';
export const ADAPTER_FILE = 'adapter_model.safetensors';
/** PEFT's prefix of a layer's name. */
const PREFIX = 'base_model.model.';

/** Settings of PEFT that change the computation and that we do not have: a folder that sets one is refused. */
const UNSUPPORTED = [
  ...['use_dora', 'use_rslora', 'use_qalora', 'use_bdlora', 'lora_bias', 'rank_pattern', 'alpha_pattern'],
  ...['layers_to_transform', 'layer_replication', 'modules_to_save', 'target_parameters'],
  ...[
    'trainable_token_indices',
    'alora_invocation_tokens',
    'arrow_config',
    'kasa_config',
    'monteclora_config',
  ],
  'velora_config',
];
/** Ways to begin that leave the base model's weights as they are; the others take something from them. */
const PLAIN_STARTS = [true, false, 'gaussian', 'orthogonal', 'eva'];

/** The name of an adapter's matrix in that file. */
export const adapterTensor = (name: string): string => PREFIX + name;

/** Whether a folder holds an adapter and no model. */
export const isAdapter = (dir: string): boolean =>
  existsSync(join(dir, ADAPTER_CONFIG)) && !existsSync(join(dir, 'config.json'));

/**
 * The model that an adapter is for, by its own account: a folder, or `ORG/NAME@REVISION`.
 *
 * @throws UserError: it names none
 */
export function baseOf(dir: string): string {
  const file = join(dir, ADAPTER_CONFIG);
  const { base_model_name_or_path: base, revision } = readJsonObject(file, 'the adapter configuration');
  if (typeof base !== 'string' || base === '') {
    throw new UserError(`${file}: base_model_name_or_path names no model`, {
      hint: `Say which model it is for: model=MODEL lora.adapter=${dir}`,
    });
  }
  return typeof revision === 'string' && !existsSync(base) ? `${base}@${revision}` : base;
}

/**
 * Reads adapters that PEFT or `saveAdapter` wrote, for a decoder of this shape. They become float32.
 *
 * @param base - the model that they are used with
 * @throws UserError: not plain LoRA; a matrix that is missing, is one too many, or does not fit the model. FileError,
 * FormatError for the files
 */
export function loadAdapter(
  dir: string,
  { config, device }: Pick<Decoder, 'config' | 'device'>,
  base: string,
): Lora {
  const file = join(dir, ADAPTER_CONFIG);
  const { rank, alpha, targets, excluded } = parse(readJsonObject(file, 'the adapter configuration'), file);
  const layers = adaptable(config);
  using tensors = SafetensorsFile.open(join(dir, ADAPTER_FILE));
  const wrong = (problem: string) =>
    new UserError(`${tensors.path}: ${problem}`, {
      hint: 'The adapter is for another model, or incomplete.',
    });

  const stored = new Set([...tensors.tensors.keys()].map((name) => name.slice(PREFIX.length)));
  const isStored = (name: string) => stored.has(`${name}.lora_A.weight`);
  // Which layers a pattern means, the file shows.
  const isMeant = (name: string, names: readonly string[] | 'pattern') =>
    names === 'pattern' ? isStored(name) : isTarget(name, names);
  const isExcluded = (name: string) => (excluded === 'pattern' ? !isStored(name) : isTarget(name, excluded));
  const adapted = [...layers].filter(([name]) => isMeant(name, targets) && !isExcluded(name));
  const parameters = new Map<string, Tensor>();
  for (const [name, [out, input]] of adapted) {
    for (const [matrix, shape] of [
      ['lora_A', [rank, input]],
      ['lora_B', [out, rank]],
    ] as const) {
      const parameter = `${name}.${matrix}.weight`;
      const info = tensors.tensors.get(PREFIX + parameter);
      const from = info && floatTypes[info.dtype];
      if (!from)
        throw wrong(info ? `'${parameter}' holds ${info.dtype}` : `no tensor '${PREFIX}${parameter}'`);
      if (info.shape.join() !== shape.join())
        throw wrong(`'${parameter}' has shape [${info.shape.join(', ')}], not [${shape.join(', ')}]`);
      const read = () => fromBytes(tensors.read(PREFIX + parameter), info.shape, from).to('float32');
      parameters.set(
        parameter,
        tidy(() => keep(read().toDevice(device))),
      );
    }
  }
  const surplus = [...tensors.tensors.keys()].find((name) => !parameters.has(name.slice(PREFIX.length)));
  if (surplus !== undefined)
    throw wrong(`'${surplus}' is not a matrix of an attention or MLP projection of this model`);
  if (parameters.size === 0) throw wrong('it holds no adapter');
  const names = targets === 'pattern' || excluded.length > 0 ? adapted.map(([name]) => name) : targets;
  return new Lora({ rank, alpha, targets: names, base }, parameters);
}

/** Rank of an adapter by its own account, and the layers that its file has matrices for. */
export function adapterShape(dir: string): { rank: number; targets: readonly string[] } {
  const file = join(dir, ADAPTER_CONFIG);
  const { rank } = parse(readJsonObject(file, 'the adapter configuration'), file);
  using tensors = SafetensorsFile.open(join(dir, ADAPTER_FILE));
  const names = [...tensors.tensors.keys()].map((name) => name.slice(PREFIX.length));
  return { rank, targets: names.flatMap((name) => /^(.*)\.lora_A\.weight$/.exec(name)?.[1] ?? []) };
}

/** The settings of an adapter by its own account, with PEFT's keys and the layers of this shape that PEFT would adapt. */
export function adapterAccount(dir: string, shape: DecoderConfig) {
  const file = join(dir, ADAPTER_CONFIG);
  const { rank, alpha, targets } = parse(readJsonObject(file, 'the adapter configuration'), file);
  const layers = targets === 'pattern' ? targets : meantBy(targets, shape);
  return { r: rank, lora_alpha: alpha, target_modules: layers, base: baseOf(dir) };
}

function parse(json: Readonly<Record<string, unknown>>, file: string) {
  const fields = new ConfigFields(json, file);
  fields.choice('peft_type', new Map([['LORA', true]]));
  fields.choice('bias', new Map([['none', true]]), 'none');
  for (const key of UNSUPPORTED) {
    const value = fields.value(key);
    const isSet = typeof value === 'object' ? Object.keys(value!).length > 0 : value;
    if (isSet) fields.fail(`${key} is not supported: adapters must be plain LoRA`, MERGE_THERE);
  }
  const start = fields.value('init_lora_weights') ?? true;
  if (!PLAIN_STARTS.some((plain) => plain === start))
    fields.fail(`init_lora_weights ${describeJson(start)} has changed the base model's weights`, MERGE_THERE);
  return {
    rank: fields.size('r'),
    alpha: fields.positive('lora_alpha'),
    targets: modules(fields, 'target_modules'),
    excluded: modules(fields, 'exclude_modules', []),
  };
}

/** Names of layers, or ends of names; or a pattern, as which `all-linear` counts here. */
function modules(
  fields: ConfigFields,
  key: string,
  otherwise?: readonly string[],
): readonly string[] | 'pattern' {
  const value = fields.value(key) ?? otherwise;
  if (Array.isArray(value) && value.every((name) => typeof name === 'string')) return value;
  if (typeof value === 'string') return 'pattern';
  return fields.fail(`${key} must be a list of names, found ${describeJson(value)}`);
}

const MERGE_THERE = "Merge it with PEFT's merge_and_unload and use the merged model.";

/** The targets, or the whole names of the adapted layers where PEFT would adapt more: LLaDA's `ff_out` is also its head. */
function targetModules(
  targets: readonly string[],
  shape: DecoderConfig,
  parameters: Lora['parameters'],
): readonly string[] {
  const adapted = [...adaptable(shape).keys()].filter((name) => parameters.has(`${name}.lora_A.weight`));
  return meantBy(targets, shape).length === adapted.length ? targets : adapted;
}

/** The layers of a model that PEFT would adapt. */
const meantBy = (targets: readonly string[], shape: DecoderConfig): string[] =>
  [...parameterSpecs(shape)]
    .filter(([, { role }]) => role === 'projection' || role === 'embedding')
    .map(([name]) => name.replace(/\.weight$/, ''))
    .filter((name) => isTarget(name, targets));

/**
 * Writes a decoder's adapters as PEFT reads them, and `loadAdapter`. Each file appears whole or not at all.
 *
 * @throws FileError: the system refuses to write.
 */
export function saveAdapter({ settings, parameters }: Lora, shape: DecoderConfig, dir: string): void {
  makeFolder(dir);
  const { rank, alpha, base } = settings;
  const reference = existsSync(base) ? undefined : parseReference(base);
  const config = {
    base_model_name_or_path: reference?.name ?? resolve(base),
    bias: 'none',
    // GPT-2's Conv1D.
    fan_in_fan_out: namesOf(shape).conv1d ?? false,
    inference_mode: true,
    init_lora_weights: true,
    lora_alpha: alpha,
    lora_dropout: 0,
    modules_to_save: null,
    peft_type: 'LORA',
    r: rank,
    revision: reference?.revision ?? null,
    target_modules: targetModules(settings.targets, shape, parameters),
    task_type: 'CAUSAL_LM',
    use_dora: false,
    use_rslora: false,
  };
  writeFileAtomic(join(dir, ADAPTER_CONFIG), `${JSON.stringify(config, null, 2)}\n`);
  const entries = [...parameters].map(([name, tensor]) => ({
    name: adapterTensor(name),
    dtype: 'F32' as const,
    shape: tensor.shape,
    data: () => byteParts(tensor),
  }));
  writeSafetensors(join(dir, ADAPTER_FILE), entries, { format: 'pt' }, { sums: true });
}
