/** A TensorBoard event file: records with checksums, each a protobuf `Event`. */

import { maskedCrc32c } from '../../../formats/crc32c.js';
import { bytesAt, type Field, fieldsOf, integerAt, NotProtobuf, textAt } from '../../../formats/protobuf.js';
import { FileBytes } from '../file-bytes.js';
import type { BrokenParts } from '../reading.js';

/** What one event tells of one tag. */
export interface Told {
  step: number;
  tag: string;
  /** A number, or a text. */
  value: number | string;
}

/** A larger record is an image or a histogram. */
const MOST_BYTES = 2 ** 24;
const HEADER_BYTES = 12;

/** The numbers and texts of an event file; what is broken ends it, and is counted. */
export function* eventsIn(file: string, broken: BrokenParts): Generator<Told> {
  using bytes = new FileBytes(file);
  for (let position = 0, record = 1; position < bytes.size; record++) {
    const header = bytes.at(position, HEADER_BYTES);
    const wrong =
      header.length < HEADER_BYTES
        ? 'ends within its length'
        : header.readUInt32LE(8) !== maskedCrc32c(header.subarray(0, 8))
          ? 'has a wrong checksum of its length'
          : undefined;
    if (wrong) {
      broken.add({ file, reason: `record ${record} ${wrong}: what follows is not read` });
      return;
    }
    const length = Number(header.readBigUInt64LE(0));
    const start = position + HEADER_BYTES;
    position = start + length + 4;
    if (length > MOST_BYTES && position <= bytes.size) continue;
    const body = bytes.at(start, length + 4);
    if (body.length < length + 4) {
      broken.add({ file, reason: `record ${record} is cut off` });
      return;
    }
    const event = body.subarray(0, length);
    if (body.readUInt32LE(length) !== maskedCrc32c(event))
      broken.add({ file, reason: `record ${record} has a wrong checksum` });
    else yield* toldBy(event, file, record, broken);
  }
}

function* toldBy(event: Uint8Array, file: string, record: number, broken: BrokenParts): Generator<Told> {
  try {
    const fields = [...fieldsOf(event)];
    const step = integerAt(fields, 2) ?? 0;
    for (const summary of bytesAt(fields, 5)) {
      for (const item of bytesAt([...fieldsOf(summary)], 1)) {
        const parts = [...fieldsOf(item)];
        const tag = textAt(parts, 1);
        const value = simpleValue(parts) ?? tensorValue(bytesAt(parts, 8)[0]);
        if (tag !== undefined && value !== undefined) yield { step, tag, value };
      }
    }
  } catch (error) {
    if (!(error instanceof NotProtobuf)) throw error;
    broken.add({ file, reason: `record ${record} is no event: ${error.message}` });
  }
}

function simpleValue(parts: readonly Field[]): number | undefined {
  const value = parts.find(({ number }) => number === 2)?.value;
  return typeof value === 'object' && 'float' in value ? value.float : undefined;
}

/** Number types of tensors that hold one number or one text. */
const FLOAT = 1;
const DOUBLE = 2;
const STRING = 7;

/** The number or the text of a tensor of one element. */
function tensorValue(tensor: Uint8Array | undefined): number | string | undefined {
  if (!tensor) return undefined;
  const fields = [...fieldsOf(tensor)];
  const type = integerAt(fields, 1);
  if (type === STRING) return textAt(fields, 8);
  if (type !== FLOAT && type !== DOUBLE) return undefined;
  const bytes = type === FLOAT ? 4 : 8;
  const packed = [...bytesAt(fields, 4), ...bytesAt(fields, type === FLOAT ? 5 : 6)].find(
    ({ length }) => length === bytes,
  );
  if (packed) {
    const view = new DataView(packed.buffer, packed.byteOffset, bytes);
    return type === FLOAT ? view.getFloat32(0, true) : view.getFloat64(0, true);
  }
  const single = fields.find(({ number }) => number === (type === FLOAT ? 5 : 6))?.value;
  if (typeof single !== 'object' || single instanceof Uint8Array) return undefined;
  return 'float' in single ? single.float : single.double;
}
