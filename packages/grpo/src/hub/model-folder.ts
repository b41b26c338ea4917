import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { printable } from '../errors/printable.js';
import { UserError } from '../errors/user-error.js';
import { isObject, readJsonObject } from '../formats/json.js';
import { CachedRepository, sizeOf } from './cached-repository.js';
import { hubCache } from './hub-settings.js';
import { fetchCommand, MAIN, parseReference } from './repository.js';

const SINGLE = 'model.safetensors';
const INDEX = 'model.safetensors.index.json';

/**
 * The folder of a model: given by its path, or as `ORG/NAME` or `ORG/NAME@REVISION` of the local Hugging Face cache. A
 * folder of that name wins. Nothing is downloaded.
 *
 * @throws UserError: it is neither; or it lies in the cache with files missing.
 */
export function modelFolder(model: string, cache = hubCache()): string {
  if (existsSync(model)) return model;
  const found = locate(model, cache);
  if (!found) {
    throw new UserError(`no model folder at ${model}`, {
      hint: 'model= takes the path of a Hugging Face folder (config.json, *.safetensors, tokenizer.json), or ORG/NAME for a model that grpo fetch downloaded',
    });
  }
  const { repository, revision, commit, cached } = found;
  const hint = `To get it from the hub: ${fetchCommand(repository, revision)}`;
  if (commit === undefined) {
    throw new UserError(`no model ${model}: there is no such folder, and none of that name in ${cache}`, {
      hint,
    });
  }
  const folder = cached.snapshot(commit);
  const missing = missingFiles(folder);
  if (missing.length > 0) {
    throw new UserError(`the model ${model} is incomplete in ${folder}: it lacks ${listNames(missing)}`, {
      hint,
    });
  }
  return folder;
}

/**
 * `ORG/NAME` as `ORG/NAME@COMMIT`, which stays the same model when a branch moves on. What is a folder, or not in the
 * cache, stays as it is.
 */
export function pinModel(model: string, cache = hubCache()): string {
  const found = existsSync(model) ? undefined : locate(model, cache);
  return found?.commit === undefined ? model : `${found.repository.name}@${found.commit}`;
}

/** Where a name on a hub leads to in the cache; undefined for what is no such name. */
function locate(model: string, cache: string) {
  const reference = parseReference(model);
  if (!reference) return undefined;
  const { name, revision = MAIN } = reference;
  const repository = { kind: 'model', name } as const;
  const cached = new CachedRepository(cache, repository);
  return { repository, revision, cached, commit: cached.commitOf(revision) };
}

/** What a folder lacks of the files without which no model can be loaded. */
export function missingFiles(folder: string): string[] {
  const lacks = (name: string) => sizeOf(join(folder, name)) === undefined;
  const weights = !lacks(SINGLE) ? [] : lacks(INDEX) ? [SINGLE] : shards(join(folder, INDEX)).filter(lacks);
  const tokenizer = lacks('tokenizer.model') ? ['tokenizer.json'] : [];
  return [...['config.json', ...tokenizer].filter(lacks), ...weights];
}

/** The files that an index names. What is wrong with it, the loader says. */
function shards(index: string): string[] {
  const { weight_map: map } = readJsonObject(index, 'the index');
  const names = isObject(map) ? Object.values(map) : [];
  return [...new Set(names.filter((name) => typeof name === 'string' && !name.includes('\0')))] as string[];
}

/** The first names of a list. They may come from a file, and so hold anything. */
export function listNames(names: readonly string[]): string {
  const more = names.length > 3 ? ` and ${names.length - 3} more` : '';
  return printable(names.slice(0, 3).join(', ')) + more;
}
