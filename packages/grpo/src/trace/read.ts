import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { onFile } from '../errors/file-error.js';
import { FormatError } from '../errors/format-error.js';
import { excerpt } from '../errors/printable.js';
import { describeJson, parseJsonObject } from '../formats/json.js';
import { SafetensorsFile } from '../formats/safetensors.js';
import { ints, type NumericArray } from './arrays.js';
import { numbersOf } from './numbers-of.js';
import { READ_VERSIONS, RECORD_VERSION, type StepRecord, stepRecordSchema } from './record.js';
import { shapeProblem } from './shapes.js';
import { textsOf } from './texts.js';
import { STEP_JSON, STEP_TENSORS } from './write.js';

/**
 * Reads the record of a step. What is missing stays missing; what is there must fit together.
 *
 * @throws FormatError for a file that is no step record, of another version, or whose arrays do not fit its lengths;
 * FileError
 */
export function readStepRecord(folder: string): StepRecord {
  const file = join(folder, STEP_JSON);
  const bytes = onFile('read', file, () => readFileSync(file));
  const json = parseJsonObject(file, 'the record', bytes);
  if (json.format === 'grpo-step' && !READ_VERSIONS.includes(json.version as number)) {
    throw new FormatError(
      file,
      `a step record of version ${describeJson(json.version)}, and this grpo reads versions ${READ_VERSIONS.join(' and ')}: record the step again, or read it with the grpo of the run that wrote it`,
    );
  }
  if (json.format === 'grpo-step') json.version = RECORD_VERSION;
  const tensors = join(folder, STEP_TENSORS);
  const names = existsSync(tensors) ? addTensors(tensors, json) : [];
  const parsed = stepRecordSchema.safeParse(json);
  if (!parsed.success) {
    throw new FormatError(file, `not a step record.\n${z.prettifyError(parsed.error)}`);
  }
  const isHeld = (value: unknown) => ArrayBuffer.isView(value) || Array.isArray(value);
  const stray = names.find((name) => !isHeld(at(parsed.data, name)));
  if (stray !== undefined) throw new FormatError(tensors, noPlace(stray));
  const problem = shapeProblem(parsed.data);
  if (problem !== undefined) throw new FormatError(file, problem);
  return parsed.data;
}

/** Puts every tensor at its path into the JSON, and a list of texts where its bytes and lengths are; gives the paths. */
function addTensors(path: string, json: Record<string, unknown>): string[] {
  using file = SafetensorsFile.open(path);
  const names = [...file.tensors.keys()];
  const lists = names.filter((name) => name.endsWith(BYTES)).map((name) => name.slice(0, -BYTES.length));
  const parts = new Set(lists.flatMap((list) => [list + BYTES, list + LENGTHS]));
  const numbers = (name: string) => numbersOf(file.info(name).dtype, file.read(name));
  const values = [
    ...lists.map((list) => [list, textsAt(path, list, numbers)] as const),
    ...names.filter((name) => !parts.has(name)).map((name) => [name, numbers(name)] as const),
  ];
  for (const [name, value] of values) {
    const keys = name.split('.');
    const last = keys.pop()!;
    let place: unknown = json;
    for (const key of keys) place = child(place, key);
    if (typeof place !== 'object' || place === null || !isPlainKey(last))
      throw new FormatError(path, noPlace(name));
    (place as Record<string, unknown>)[last] = value;
  }
  return values.map(([name]) => name);
}

const BYTES = '.bytes';
const LENGTHS = '.lengths';

function textsAt(path: string, list: string, numbers: (name: string) => NumericArray): (string | null)[] {
  const [bytes, lengths] = [numbers(list + BYTES), numbers(list + LENGTHS)];
  const texts = bytes instanceof Uint8Array && textsOf({ bytes, lengths: ints.parse(lengths) });
  if (texts) return texts;
  const parts = [list + BYTES, list + LENGTHS].map(excerpt);
  throw new FormatError(path, `${parts[0]} is no UTF-8 text of the lengths in ${parts[1]}`);
}

/** A name that the record does not have would be lost without a word. */
const noPlace = (name: string) =>
  `tensor ${excerpt(name)} has no place in a step record; see docs/step-record.md for the names`;

/** What stands at a path of the record. */
const at = (record: unknown, path: string): unknown =>
  path.split('.').reduce<unknown>((place, key) => {
    const isHolder = typeof place === 'object' && place !== null && Object.hasOwn(place, key);
    return isHolder ? (place as Record<string, unknown>)[key] : undefined;
  }, record);

/** The object under a key; made where there is none, so that a writer need not name empty objects in the JSON. */
function child(place: unknown, key: string): unknown {
  if (typeof place !== 'object' || place === null || !isPlainKey(key)) return undefined;
  const holder = place as Record<string, unknown>;
  if (!Array.isArray(holder)) holder[key] ??= {};
  return Object.hasOwn(holder, key) ? holder[key] : undefined;
}

/** Not one that reaches the prototype. */
const isPlainKey = (key: string) => key !== '__proto__' && key !== 'constructor' && key !== 'prototype';
