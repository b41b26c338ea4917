/** Writes event files of TensorBoard and logs of W&B as these do. */
import { crc32 } from 'node:zlib';
import { maskedCrc32c } from '../../formats/crc32c.js';

const varint = (value: number): Buffer => {
  const bytes: number[] = [];
  for (let left = value; ; left = Math.floor(left / 128)) {
    if (left < 128) return Buffer.from([...bytes, left]);
    bytes.push((left % 128) + 128);
  }
};

/** A field of a message: a whole number, a float, a text, or a message. */
export function field(number: number, value: number | { float: number } | string | Buffer): Buffer {
  const key = (wire: number) => varint(number * 8 + wire);
  if (typeof value === 'number') return Buffer.concat([key(0), varint(value)]);
  if (typeof value === 'string' || Buffer.isBuffer(value)) {
    const bytes = Buffer.from(value as string);
    return Buffer.concat([key(2), varint(bytes.length), bytes]);
  }
  const bytes = Buffer.alloc(4);
  bytes.writeFloatLE(value.float);
  return Buffer.concat([key(5), bytes]);
}

/** A record of an event file with its checksums. */
function record(body: Buffer): Buffer {
  const head = Buffer.alloc(12);
  head.writeBigUInt64LE(BigInt(body.length));
  head.writeUInt32LE(maskedCrc32c(head.subarray(0, 8)), 8);
  const sum = Buffer.alloc(4);
  sum.writeUInt32LE(maskedCrc32c(body));
  return Buffer.concat([head, body, sum]);
}

/** An event with one number, written as old and new versions do, or one text. */
export function event(step: number, tag: string, value: number | string, asTensor = false): Buffer {
  const tensor =
    typeof value === 'string'
      ? Buffer.concat([field(1, 7), field(8, value)])
      : Buffer.concat([field(1, 1), field(5, { float: value })]);
  const told = asTensor || typeof value === 'string' ? field(8, tensor) : field(2, { float: value });
  return record(Buffer.concat([field(2, step), field(5, field(1, Buffer.concat([field(1, tag), told])))]));
}

/** A log of W&B out of its records, in blocks of 32 KiB. */
export function wandbLog(records: readonly Buffer[]): Buffer {
  const parts: Buffer[] = [Buffer.concat([Buffer.from(':W&B'), Buffer.of(0xe1, 0xbe, 0)])];
  let position = 7;
  const add = (type: number, body: Buffer) => {
    const head = Buffer.alloc(7);
    head.writeUInt32LE(crc32(body, crc32(Buffer.of(type))));
    head.writeUInt16LE(body.length, 4);
    head[6] = type;
    parts.push(head, body);
    position += 7 + body.length;
  };
  for (const whole of records) {
    let rest: Buffer = whole;
    let isFirst = true;
    do {
      const left = 32_768 - (position % 32_768);
      if (left < 7) {
        parts.push(Buffer.alloc(left));
        position += left;
        continue;
      }
      const body = rest.subarray(0, left - 7);
      rest = rest.subarray(body.length);
      add(isFirst ? (rest.length === 0 ? 1 : 2) : rest.length === 0 ? 4 : 3, body);
      isFirst = false;
    } while (rest.length > 0);
  }
  return Buffer.concat(parts);
}

/** A record of a row of history. */
export const history = (step: number, values: Readonly<Record<string, unknown>>): Buffer =>
  field(
    2,
    Buffer.concat([
      ...Object.entries(values).map(([key, value]) =>
        field(1, Buffer.concat([field(2, key), field(16, JSON.stringify(value))])),
      ),
      field(2, field(1, step)),
    ]),
  );

/** A record of settings. */
export const config = (values: Readonly<Record<string, unknown>>): Buffer =>
  field(
    5,
    Buffer.concat(
      Object.entries(values).map(([key, value]) =>
        field(1, Buffer.concat([field(1, key), field(16, JSON.stringify(value))])),
      ),
    ),
  );
