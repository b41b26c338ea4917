/** Fields of a protobuf message, written without its schema: `protobuf.ts` reads them. A message is its fields, joined. */

const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
const FIXED32 = 5;

const keyOf = (number: number, kind: number) => varint(BigInt((number << 3) | kind));

/** A whole number; a negative one takes ten bytes, as an int64 does. */
export function integerField(number: number, value: number): Uint8Array {
  return Buffer.concat([keyOf(number, VARINT), varint(BigInt.asUintN(64, BigInt(value)))]);
}

export function doubleField(number: number, value: number): Uint8Array {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleLE(value);
  return Buffer.concat([keyOf(number, FIXED64), bytes]);
}

export function floatField(number: number, value: number): Uint8Array {
  const bytes = Buffer.alloc(4);
  bytes.writeFloatLE(value);
  return Buffer.concat([keyOf(number, FIXED32), bytes]);
}

/** A text, or a message by its fields. */
export function bytesField(number: number, value: string | readonly Uint8Array[]): Uint8Array {
  const body = typeof value === 'string' ? Buffer.from(value, 'utf8') : Buffer.concat(value);
  return Buffer.concat([keyOf(number, BYTES), varint(BigInt(body.length)), body]);
}

/** Packed doubles. */
export function doublesField(number: number, values: readonly number[]): Uint8Array {
  const { buffer } = Float64Array.from(values);
  return bytesField(number, [new Uint8Array(buffer)]);
}

function varint(value: bigint): Uint8Array {
  const bytes: number[] = [];
  let rest = value;
  do {
    const low = Number(rest & 0x7fn);
    rest >>= 7n;
    bytes.push(rest > 0n ? low | 0x80 : low);
  } while (rest > 0n);
  return Uint8Array.from(bytes);
}
