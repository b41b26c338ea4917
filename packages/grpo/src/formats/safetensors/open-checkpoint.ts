import { existsSync, readdirSync } from 'node:fs';
import { isAbsolute, join, relative, sep } from 'node:path';
import { onFile } from '../../errors/file-error.js';
import { FormatError } from '../../errors/format-error.js';
import { excerpt, printable } from '../../errors/printable.js';
import { describeJson, isObject, readJsonObject } from '../json.js';
import { SafetensorsFile } from './file.js';
import type { TensorInfo } from './header.js';

const SINGLE = 'model.safetensors';
const INDEX = 'model.safetensors.index.json';
const PICKLE = /\.(bin|pt|pth|ckpt|pkl)$/;

/** The tensors of a model folder, in however many files they are. */
export interface Checkpoint extends Disposable {
  names(): string[];
  /** @throws FormatError when there is no such tensor. */
  info(name: string): TensorInfo;
  /** A copy of a tensor's bytes. */
  read(name: string): Uint8Array;
  close(): void;
}

/**
 * Opens `model.safetensors` in `dir`, or else the shards that `model.safetensors.index.json` names. An index may name
 * files in the folder and below it only. Symbolic links there are followed wherever they lead: download caches are made
 * of such, and no content of a file can make one.
 * @throws FormatError when a file is not valid, a shard or tensor is missing, or only pickle files are there.
 */
export function openCheckpoint(dir: string): Checkpoint {
  const files = onFile('read', dir, () => readdirSync(dir));
  if (files.includes(SINGLE)) return openSingle(join(dir, SINGLE));
  if (files.includes(INDEX)) return openSharded(dir, join(dir, INDEX));
  const pickles = files.filter((file) => PICKLE.test(file));
  if (pickles.length > 0) {
    throw new FormatError(
      dir,
      `the weights are pickle files (${excerpt(pickles.join(', '))}), which are not read: loading a pickle runs ` +
        'whatever code it holds. Convert a model you trust with Python: ' +
        'from transformers import AutoModelForCausalLM; ' +
        'AutoModelForCausalLM.from_pretrained("FOLDER").save_pretrained("NEW_FOLDER")',
    );
  }
  const found = files.length === 0 ? 'the folder is empty' : `found ${excerpt(files.sort().join(', '))}`;
  throw new FormatError(dir, `no weights: neither ${SINGLE} nor ${INDEX} is there; ${found}`);
}

function openSingle(path: string): Checkpoint {
  const file = SafetensorsFile.open(path);
  const close = () => file.close();
  return {
    names: () => [...file.tensors.keys()],
    info: (name) => file.info(name),
    read: (name) => file.read(name),
    close,
    [Symbol.dispose]: close,
  };
}

function openSharded(dir: string, index: string): Checkpoint {
  const shardOf = readIndex(dir, index);
  const shards = new Map<string, SafetensorsFile>();
  const close = () => {
    for (const shard of shards.values()) shard.close();
  };
  try {
    for (const [name, path] of shardOf) {
      const shard = shards.get(path) ?? openShard(index, path);
      shards.set(path, shard);
      if (!shard.tensors.has(name)) {
        throw new FormatError(path, `tensor ${excerpt(name)} is missing, though ${index} says it is here`);
      }
    }
  } catch (error) {
    close();
    throw error;
  }
  const fileOf = (name: string): SafetensorsFile => {
    const shard = shards.get(shardOf.get(name) ?? '');
    if (shard) return shard;
    throw new FormatError(
      index,
      `no tensor ${excerpt(name)}; it lists ${excerpt([...shardOf.keys()].join(' '))}`,
    );
  };
  return {
    // A shard's tensors that are not in the index are not part of the model.
    names: () => [...shardOf.keys()],
    info: (name) => fileOf(name).info(name),
    read: (name) => fileOf(name).read(name),
    close,
    [Symbol.dispose]: close,
  };
}

function openShard(index: string, path: string): SafetensorsFile {
  if (!existsSync(path)) {
    throw new FormatError(index, `the shard ${printable(path)} is missing; the download may not be complete`);
  }
  return SafetensorsFile.open(path);
}

/** The index's `weight_map`: the path of the shard of each tensor. */
function readIndex(dir: string, index: string): Map<string, string> {
  const { weight_map: weightMap } = readJsonObject(index, 'the index');
  if (!isObject(weightMap)) {
    throw new FormatError(
      index,
      `"weight_map" must be an object of tensor: file, found ${describeJson(weightMap)}`,
    );
  }
  return new Map(Object.entries(weightMap).map(([name, file]) => [name, shardPath(dir, index, name, file)]));
}

function shardPath(dir: string, index: string, name: string, file: unknown): string {
  const fail = (problem: string): never => {
    throw new FormatError(index, `tensor ${excerpt(name)}: ${problem}`);
  };
  if (typeof file !== 'string' || !file.endsWith('.safetensors') || file.includes('\0')) {
    return fail(`its file must be a .safetensors name, found ${describeJson(file)}`);
  }
  const inside = relative(dir, join(dir, file));
  if (isAbsolute(file) || isAbsolute(inside) || inside.split(sep)[0] === '..') {
    return fail(`its file ${excerpt(file)} lies outside the model's folder`);
  }
  return join(dir, inside);
}
