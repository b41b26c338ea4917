import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { printable } from '../../errors/printable.js';
import { readJsonObject } from '../../formats/json.js';
import { readWhole } from '../../formats/read-file.js';
import {
  ADAPTER_CONFIG,
  adapterAccount,
  CHANGED_KEYS,
  endIdsOf,
  type Model,
  readModelFolder,
} from '../../models/index.js';
import { differs } from './differs.js';

const CONFIG = 'config.json';
/** Characters of a value that an error shows. */
const MOST = 120;

/** Values by name. */
type Values = Readonly<Record<string, unknown>>;

/**
 * Reads a saved model as somebody would who knows its folder only, all but the tensors, and compares it with the model
 * in memory: the configuration, the files beside it, and what they say of turns; or the settings of the adapters.
 *
 * @param named - the folder's name in errors
 * @throws UserError for the first difference; what reading a model folder throws
 */
export function readModelBack(dir: string, model: Model, named = dir): void {
  if (model.decoder.lora) {
    requireEqual(join(named, ADAPTER_CONFIG), ...adapters(dir, model));
    return;
  }
  const saved = readJsonObject(join(dir, CONFIG), 'the model configuration');
  requireEqual(join(named, CONFIG), unchanged(saved), unchanged(model.configJson));
  for (const [name, bytes] of model.files) {
    const [path, shown] = [join(dir, name), join(named, name)];
    if (!existsSync(path)) throw refused(shown, 'it is missing');
    const found = readWhole(path, 'the file', Number.POSITIVE_INFINITY);
    if (!found.equals(bytes))
      throw refused(shown, `found ${found.length} bytes that are not the ${bytes.length} expected ones`);
  }
  requireEqual(named, ...meanings(dir, model));
}

/** A configuration without the keys that saving changes. */
const unchanged = (json: Values): Values =>
  Object.fromEntries(Object.entries(json).filter(([key]) => !CHANGED_KEYS.includes(key)));

/** What a folder and a model say of the decoder and of turns; the tokenizer's files have the same bytes. */
function meanings(dir: string, model: Model): [found: Values, expected: Values] {
  const { decoder, endIds, tokenizer, template } = model;
  const folder = readModelFolder(dir, tokenizer);
  return [
    {
      ...folder.config,
      dtype: folder.configJson.dtype,
      endIds: [...endIdsOf(folder)],
      template: folder.template?.source,
    },
    {
      ...decoder.config,
      dtype: decoder.dtype,
      endIds: [...endIds],
      template: template?.source,
    },
  ];
}

/** What a folder of adapters and the model's adapters say, by PEFT's keys. */
function adapters(dir: string, { decoder }: Model): [found: Values, expected: Values] {
  const { settings, parameters } = decoder.lora!;
  const { base, ...account } = adapterAccount(dir, decoder.config);
  const layers = [...parameters.keys()].flatMap((name) => /^(.*)\.lora_A\.weight$/.exec(name)?.[1] ?? []);
  return [
    { ...account, base_model_name_or_path: resolve(base) },
    {
      r: settings.rank,
      lora_alpha: settings.alpha,
      target_modules: layers,
      base_model_name_or_path: resolve(settings.base),
    },
  ];
}

function requireEqual(path: string, found: Values, expected: Values): void {
  const text = (value: unknown) => JSON.stringify(value) ?? 'nothing';
  for (const key of Object.keys({ ...expected, ...found })) {
    const [own, other] = [found, expected].map((values) => text(values[key])) as [string, string];
    if (own !== other)
      throw refused(path, `'${key}': found ${printable(own, MOST)}, expected ${printable(other, MOST)}`);
  }
}

const refused = (path: string, problem: string) =>
  differs(
    path,
    problem,
    'This checkpoint is not kept; the one before it stays. Look at the disk; if that is sound, report this as a fault of grpo.',
  );
