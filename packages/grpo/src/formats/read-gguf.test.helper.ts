import { readFileSync } from 'node:fs';

/** A tensor as a GGUF file has it. */
export interface ReadTensor {
  /** Code of the element type: 0 float32, 1 float16, 8 Q8_0, 30 bfloat16. */
  type: number;
  /** That of a row first. */
  sizes: number[];
  bytes: Buffer;
}

/** Reads a GGUF file by the specification; shares nothing with the writer. */
export function readGguf(path: string): {
  metadata: Record<string, unknown>;
  tensors: Map<string, ReadTensor>;
} {
  const file = readFileSync(path);
  let at = 0;
  const skip = (bytes: number) => {
    at += bytes;
    return at - bytes;
  };
  const uint32 = () => file.readUInt32LE(skip(4));
  const uint64 = () => Number(file.readBigUInt64LE(skip(8)));
  const text = () => {
    const length = uint64();
    return file.toString('utf8', skip(length), at);
  };
  const value = (type: number): unknown => {
    switch (type) {
      case 4:
        return uint32();
      case 5:
        return file.readInt32LE(skip(4));
      case 6:
        return file.readFloatLE(skip(4));
      case 7:
        return file[skip(1)] === 1;
      case 8:
        return text();
      case 9: {
        const inner = uint32();
        return Array.from({ length: uint64() }, () => value(inner));
      }
      default:
        throw new Error(`type ${type}`);
    }
  };
  const magic = file.toString('latin1', skip(4), at);
  const version = uint32();
  if (magic !== 'GGUF' || version !== 3) throw new Error(`${magic} version ${version}`);
  const [tensorCount, valueCount] = [uint64(), uint64()];
  const metadata = Object.fromEntries(Array.from({ length: valueCount }, () => [text(), value(uint32())]));
  const infos = Array.from({ length: tensorCount }, () => ({
    name: text(),
    sizes: Array.from({ length: uint32() }, uint64),
    type: uint32(),
    offset: uint64(),
  }));
  const start = Math.ceil(at / 32) * 32;
  const blocks: Record<number, [elements: number, bytes: number]> = {
    0: [1, 4],
    1: [1, 2],
    8: [32, 34],
    30: [1, 2],
  };
  const tensors = infos.map(({ name, sizes, type, offset }): [string, ReadTensor] => {
    if (offset % 32 !== 0) throw new Error(`${name} begins at ${offset}`);
    const [elements, bytes] = blocks[type]!;
    const length = (sizes.reduce((product, size) => product * size, 1) / elements) * bytes;
    if (start + offset + length > file.length) throw new Error(`${name} ends beyond the file`);
    return [name, { type, sizes, bytes: file.subarray(start + offset, start + offset + length) }];
  });
  return { metadata, tensors: new Map(tensors) };
}
