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
import { BYTES, LENGTHS, TEXT_LISTS, textsOf } from './texts.js';
import { setAt, valueAt } from './value-at.js';
import { STEP_JSON, STEP_TENSORS } from './write.js';

/** A tensor of a record's file, or a list of texts, by its path. */
export interface Stored {
  path: string;
  bytes: number;
}

/**
 * Reads the record of a step. What is missing stays missing; what is there must fit together.
 *
 * @param isRead - whether a tensor is read; one that is not is missing in the record. All are when not given. The pieces
 * of the tokenizer and the mask plans are always read, since their parts need each other.
 * @throws FormatError for a file that is no step record, of another version, or whose arrays do not fit its lengths;
 * FileError
 */
export function readStepRecord(folder: string, isRead: (stored: Stored) => boolean = () => true): StepRecord {
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
  const names = existsSync(tensors) ? addTensors(tensors, json, isRead) : [];
  const parsed = stepRecordSchema.safeParse(json);
  if (!parsed.success) {
    throw new FormatError(file, `not a step record.\n${z.prettifyError(parsed.error)}`);
  }
  const isHeld = (value: unknown) => ArrayBuffer.isView(value) || Array.isArray(value);
  const stray = names.find((name) => !isHeld(valueAt(parsed.data, name)));
  if (stray !== undefined) throw new FormatError(tensors, noPlace(stray));
  const problem = shapeProblem(parsed.data);
  if (problem !== undefined) throw new FormatError(file, problem);
  return parsed.data;
}

/** Puts the tensors that are read at their paths into the JSON, and a list of texts where its bytes and lengths are. */
function addTensors(
  path: string,
  json: Record<string, unknown>,
  isRead: (stored: Stored) => boolean,
): string[] {
  using file = SafetensorsFile.open(path);
  const numbers = (name: string) => numbersOf(file.info(name).dtype, file.read(name));
  const sizeOf = (name: string) => {
    const info = file.tensors.get(name);
    return info ? info.end - info.begin : 0;
  };
  const names = [...file.tensors.keys()];
  const lists = [...TEXT_LISTS].filter((list) => file.tensors.has(list + BYTES));
  const parts = new Set(lists.flatMap((list) => [list + BYTES, list + LENGTHS]));
  const stored = [
    ...lists.map((list) => ({ path: list, bytes: sizeOf(list + BYTES), isTexts: true })),
    ...names
      .filter((name) => !parts.has(name))
      .map((name) => ({ path: name, bytes: sizeOf(name), isTexts: false })),
  ].filter((one) => ALWAYS_READ.test(one.path) || isRead(one));
  for (const one of stored) {
    const value = one.isTexts ? textsAt(path, one.path, numbers) : numbers(one.path);
    if (!setAt(json, one.path, value)) throw new FormatError(path, noPlace(one.path));
  }
  return stored.map((one) => one.path);
}

const ALWAYS_READ = /^(tokenizer\.pieces|diffusion\.plans)\./;

/** The texts of a list in a file, from what it has as bytes and lengths. @throws FormatError for what is no text */
export function textsAt(
  path: string,
  list: string,
  numbers: (name: string) => NumericArray,
): (string | null)[] {
  const [bytes, lengths] = [numbers(list + BYTES), numbers(list + LENGTHS)];
  const texts = bytes instanceof Uint8Array && textsOf({ bytes, lengths: ints.parse(lengths) });
  if (texts) return texts;
  const parts = [list + BYTES, list + LENGTHS].map(excerpt);
  throw new FormatError(path, `${parts[0]} is no UTF-8 text of the lengths in ${parts[1]}`);
}

/** A name that the record does not have would be lost without a word. */
const noPlace = (name: string) =>
  `tensor ${excerpt(name)} has no place in a step record; see docs/step-record.md for the names`;
