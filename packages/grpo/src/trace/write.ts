import { join } from 'node:path';
import { writeFileAtomic } from '../formats/atomic-file.js';
import { jsonValue } from '../formats/json.js';
import { makeFolder } from '../formats/make-folder.js';
import { type SafetensorsDtype, type TensorEntry, writeSafetensors } from '../formats/safetensors.js';
import type { StepRecord } from './record.js';
import { bytesOf, TEXT_LISTS } from './texts.js';

/** The two files of a step record. */
export const STEP_JSON = 'step.json';
export const STEP_TENSORS = 'step.safetensors';

type Stored = Int32Array | Float32Array | Float64Array | Uint8Array;

/**
 * Writes `step.json` and `step.safetensors` into a folder, which is made. A typed array anywhere in the record becomes
 * the tensor of that path (`completions.ids`, `updates.0.weights`), a list of texts two of them
 * (`completions.texts.bytes`, `completions.texts.lengths`); all else is JSON.
 *
 * The JSON comes last: a record is whole where it is there.
 */
export function writeStepRecord(folder: string, record: StepRecord): void {
  const tensors: TensorEntry[] = [];
  const json = withoutTensors(record, '', tensors);
  makeFolder(folder);
  // A step does not wait for the disk: what a power cut takes of its record is no loss.
  writeSafetensors(join(folder, STEP_TENSORS), tensors, {}, { flush: false });
  writeFileAtomic(join(folder, STEP_JSON), `${JSON.stringify(json, jsonValue)}\n`, false);
}

/** The value without its typed arrays, which go to `tensors`. */
function withoutTensors(value: unknown, path: string, tensors: TensorEntry[]): unknown {
  if (ArrayBuffer.isView(value)) {
    tensors.push(entryOf(path, value as Stored));
    return undefined;
  }
  const at = (key: string | number) => (path === '' ? String(key) : `${path}.${key}`);
  if (TEXT_LISTS.has(path) && Array.isArray(value) && value.length > 0) {
    const { bytes, lengths } = bytesOf(value);
    tensors.push(entryOf(at('bytes'), bytes), entryOf(at('lengths'), lengths));
    return undefined;
  }
  if (Array.isArray(value)) return value.map((item, i) => withoutTensors(item, at(i), tensors));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, withoutTensors(item, at(key), tensors)]),
  );
}

function entryOf(name: string, values: Stored): TensorEntry {
  const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
  return { name, dtype: dtypeOf(values), shape: [values.length], data: () => bytes };
}

function dtypeOf(values: Stored): SafetensorsDtype {
  if (values instanceof Float32Array) return 'F32';
  if (values instanceof Float64Array) return 'F64';
  return values instanceof Int32Array ? 'I32' : 'U8';
}
