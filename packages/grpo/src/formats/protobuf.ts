/** The fields of a protobuf message, without its schema: enough to read other people's logs. */

/** A field: a whole number, the bits of a float, or bytes (a text, a message, packed numbers). */
export interface Field {
  number: number;
  value: bigint | Float64 | Float32 | Uint8Array;
}

/** Eight bytes that are read as a double. */
export type Float64 = { double: number };
/** Four bytes that are read as a float. */
export type Float32 = { float: number };

/** Bytes that are no protobuf message; the message says why. */
export class NotProtobuf extends Error {}

/**
 * The fields of a message in their order.
 *
 * @throws NotProtobuf where the bytes are none
 */
export function* fieldsOf(bytes: Uint8Array): Generator<Field> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = bytes[at++];
      if (byte === undefined) throw new NotProtobuf('it ends within a number');
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asUintN(64, value);
    }
    throw new NotProtobuf('a number is too long');
  };
  const take = (count: number): number => {
    if (at + count > bytes.length) throw new NotProtobuf('it ends within a field');
    at += count;
    return at - count;
  };
  while (at < bytes.length) {
    const key = Number(varint());
    const number = key >>> 3;
    if (number === 0) throw new NotProtobuf('a field has number 0');
    switch (key & 7) {
      case 0:
        yield { number, value: varint() };
        break;
      case 1:
        yield { number, value: { double: view.getFloat64(take(8), true) } };
        break;
      case 2: {
        const length = Number(varint());
        const start = take(length);
        yield { number, value: bytes.subarray(start, start + length) };
        break;
      }
      case 5:
        yield { number, value: { float: view.getFloat32(take(4), true) } };
        break;
      default:
        throw new NotProtobuf(`field ${number} is of an unknown kind`);
    }
  }
}

/** The messages, texts or packed numbers under a field's number. */
export const bytesAt = (fields: readonly Field[], number: number): Uint8Array[] =>
  fields.flatMap((field) =>
    field.number === number && field.value instanceof Uint8Array ? [field.value] : [],
  );

/** The text under a field's number, the last if there are several. */
export function textAt(fields: readonly Field[], number: number): string | undefined {
  const bytes = bytesAt(fields, number).at(-1);
  return bytes && new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
}

/** The whole number under a field's number. */
export function integerAt(fields: readonly Field[], number: number): number | undefined {
  const found = fields.findLast((field) => field.number === number && typeof field.value === 'bigint');
  return found && Number(BigInt.asIntN(64, found.value as bigint));
}
