/** Tensors of a folder's safetensors, read element by element: `formats/safetensors/` reads them the first way. */
import { closeSync, existsSync, openSync, readFileSync, readSync } from 'node:fs';
import { join } from 'node:path';

/** One tensor where it lies. */
interface Place {
  dtype: string;
  shape: readonly number[];
  fd: number;
  /** Of its first byte in the file. */
  start: number;
}

const WIDTHS: Readonly<Record<string, number>> = { F64: 8, F32: 4, F16: 2, BF16: 2 };

/** The beginning of a tensor's name in an adapter of PEFT's. */
export const ADAPTER_PREFIX = 'base_model.model.';

/** Whether a folder keeps this weight as `[in, out]`: GPT-2 does so with its projections. */
export const isTurned = (modelType: unknown, name: string): boolean =>
  modelType === 'gpt2' && /\.c_(attn|proj|fc)\.weight$/.test(name);

/** The tensors of some safetensors files, open until disposed. */
export class StoredTensors implements Disposable {
  readonly #places = new Map<string, Place>();
  readonly #fds: number[] = [];

  constructor(paths: readonly string[]) {
    for (const path of paths) {
      const fd = openSync(path, 'r');
      this.#fds.push(fd);
      const length = Number(bytesAt(fd, 0, 8).readBigUInt64LE());
      const header = JSON.parse(bytesAt(fd, 8, length).toString()) as Record<
        string,
        { dtype: string; shape: number[]; data_offsets: [number, number] }
      >;
      for (const [name, { dtype, shape, data_offsets: offsets }] of Object.entries(header))
        if (name !== '__metadata__')
          this.#places.set(name, { dtype, shape, fd, start: 8 + length + offsets[0] });
    }
  }

  /** Those of a model folder: one file, or those that its index names. */
  static ofModel(dir: string): StoredTensors {
    const single = join(dir, 'model.safetensors');
    if (existsSync(single)) return new StoredTensors([single]);
    const index = JSON.parse(readFileSync(`${single}.index.json`, 'utf8')) as {
      weight_map: Record<string, string>;
    };
    return new StoredTensors([...new Set(Object.values(index.weight_map))].map((file) => join(dir, file)));
  }

  get names(): string[] {
    return [...this.#places.keys()];
  }

  /** The name that a weight has here: GPT-2's older checkpoints leave out the prefix. */
  nameOf(weight: string): string | undefined {
    return [weight, weight.replace(/^transformer\./, '')].find((name) => this.#places.has(name));
  }

  shapeOf(name: string): readonly number[] | undefined {
    return this.#places.get(name)?.shape;
  }

  /** As the header spells it: `F32`, `BF16`, … */
  typeOf(name: string): string | undefined {
    return this.#places.get(name)?.dtype;
  }

  /** Elements of a tensor by their numbers, row after row. */
  elements(name: string, numbers: readonly number[]): number[] {
    const { dtype, fd, start } = this.#places.get(name)!;
    const width = WIDTHS[dtype]!;
    return numbers.map((number) => numberOf(bytesAt(fd, start + width * number, width), dtype));
  }

  [Symbol.dispose](): void {
    for (const fd of this.#fds.splice(0)) closeSync(fd);
  }
}

function bytesAt(fd: number, position: number, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  readSync(fd, bytes, 0, length, position);
  return bytes;
}

function numberOf(bytes: Buffer, dtype: string): number {
  switch (dtype) {
    case 'F64':
      return bytes.readDoubleLE();
    case 'F32':
      return bytes.readFloatLE();
    case 'BF16':
      return Buffer.concat([Buffer.alloc(2), bytes]).readFloatLE();
    default:
      return halfOf(bytes.readUInt16LE());
  }
}

/** An IEEE 754 number of 16 bits: 1 of sign, 5 of exponent, 10 of fraction. */
function halfOf(bits: number): number {
  const sign = bits >>> 15 ? -1 : 1;
  const [exponent, fraction] = [(bits >>> 10) & 31, (bits & 1023) / 1024];
  if (exponent === 31) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return exponent === 0 ? sign * fraction * 2 ** -14 : sign * (1 + fraction) * 2 ** (exponent - 15);
}
