import { closeSync, fstatSync, openSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import { byteCount } from '../../errors/byte-count.js';
import { onFile } from '../../errors/file-error.js';
import { FormatError } from '../../errors/format-error.js';
import { excerpt } from '../../errors/printable.js';
import { sum } from '../../maths/moments.js';
import { readFully } from '../file-io.js';
import { otherKind } from '../other-kind.js';
import { requireFile } from '../read-file.js';
import { DTYPE_BYTES } from './dtype.js';
import { type Header, MAX_HEADER_BYTES, parseHeader, type TensorInfo } from './header.js';
import { SUMS_KEY, sumOf, sumsIn, sumText } from './sums.js';

const LENGTH_BYTES = 8;
const PART_BYTES = 2 ** 24;
const LFS_POINTER = 'version https://git-lfs';

/** An open safetensors file. Opening reads the header only; each tensor is read when asked for. */
export class SafetensorsFile implements Disposable {
  /** Tensors by name, in the order of the data. */
  readonly tensors: ReadonlyMap<string, TensorInfo>;
  readonly metadata: Readonly<Record<string, string>>;
  readonly #dataStart: number;
  /** Checksum of each tensor's bytes, where the writer left them. */
  readonly #sums: ReadonlyMap<string, string> | undefined;
  #fd: number | undefined;

  private constructor(
    readonly path: string,
    fd: number,
    header: Header,
    dataStart: number,
  ) {
    this.tensors = header.tensors;
    this.#sums = sumsIn(header);
    const { [SUMS_KEY]: _, ...others } = header.metadata;
    this.metadata = this.#sums ? others : header.metadata;
    this.#fd = fd;
    this.#dataStart = dataStart;
  }

  /** @throws FormatError when the header is not valid, FileError when the system refuses. */
  static open(path: string): SafetensorsFile {
    return onFile('read', path, () => {
      requireFile(path);
      const fd = openSync(path, 'r');
      try {
        const json = readHeader(path, fd);
        const dataStart = LENGTH_BYTES + json.length;
        const header = parseHeader(path, json, fstatSync(fd).size - dataStart);
        return new SafetensorsFile(path, fd, header, dataStart);
      } catch (error) {
        closeSync(fd);
        throw error;
      }
    });
  }

  /** @throws FormatError when the file has no tensor of that name. */
  info(name: string): TensorInfo {
    const info = this.tensors.get(name);
    if (info) return info;
    const names = excerpt([...this.tensors.keys()].join(' '));
    throw new FormatError(this.path, `no tensor ${excerpt(name)}; the file has ${names}`);
  }

  /** A copy of the tensor's bytes, little-endian and row-major. */
  read(name: string): Uint8Array {
    const { begin, end } = this.info(name);
    const bytes = this.#allocate(name, end - begin);
    this.readInto(name, bytes);
    return bytes;
  }

  /**
   * Reads the tensor straight into `target`'s memory, of any size.
   * @param target exactly as many bytes as the tensor has.
   * @throws FormatError when they are not those that were written.
   */
  readInto(name: string, target: Uint8Array): void {
    const { begin, end } = this.info(name);
    if (target.length !== end - begin) {
      const sizes = `has ${end - begin} bytes, the target ${target.length}`;
      throw new RangeError(`${this.path}: tensor ${excerpt(name)} ${sizes}`);
    }
    this.#readAt(name, begin, target);
    if (this.#sums) this.#checkSum(name, sumOf(target));
  }

  /**
   * The tensor's bytes in parts, each in place of the one before. A part has no half of an element.
   * @throws FormatError after the last, when they are not those that were written.
   */
  *parts(name: string): Generator<Uint8Array> {
    const { begin, end } = this.info(name);
    const place = this.#allocate(name, Math.min(PART_BYTES, end - begin));
    let sum = 0;
    for (let at = begin; at < end; at += place.length) {
      const part = place.subarray(0, end - at);
      this.#readAt(name, at, part);
      if (this.#sums) sum = crc32(part, sum);
      yield part;
    }
    if (this.#sums) this.#checkSum(name, sumText(sum));
  }

  /**
   * Some ranges of a tensor's elements, one after another; the rest of it is not read, and its checksum not compared.
   *
   * @throws FormatError for a range that the tensor does not have
   */
  readRanges(name: string, ranges: readonly (readonly [start: number, end: number])[]): Uint8Array {
    const { begin, end, dtype } = this.info(name);
    const size = DTYPE_BYTES[dtype];
    const beyond = ranges.find(([, last]) => last * size > end - begin);
    if (beyond) {
      const problem = `it has ${(end - begin) / size} elements, ${beyond[1]} were expected`;
      throw new FormatError(this.path, `tensor ${excerpt(name)}: ${problem}`);
    }
    const bytes = this.#allocate(name, size * sum(ranges.map(([first, last]) => last - first)));
    let at = 0;
    for (const [first, last] of ranges) {
      const target = bytes.subarray(at, at + size * (last - first));
      this.#readAt(name, begin + first * size, target);
      at += target.length;
    }
    return bytes;
  }

  #checkSum(name: string, found: string): void {
    const written = this.#sums?.get(name);
    if (found !== written) {
      const problem = `its bytes have the CRC-32 ${found}, those that were written had ${written}; the file is damaged`;
      throw new FormatError(this.path, `tensor ${excerpt(name)}: ${problem}`);
    }
  }

  /** @param position - from the start of the data */
  #readAt(name: string, position: number, target: Uint8Array): void {
    const fd = this.#fd;
    if (fd === undefined) throw new Error(`${this.path} is closed; ${excerpt(name)} cannot be read`);
    const count = onFile('read', this.path, () => readFully(fd, target, this.#dataStart + position));
    if (count !== target.length) {
      throw new FormatError(this.path, `tensor ${excerpt(name)}: the file was cut short after it was opened`);
    }
  }

  #allocate(name: string, size: number): Uint8Array {
    try {
      return new Uint8Array(size);
    } catch (cause) {
      if (!(cause instanceof RangeError)) throw cause;
      const problem = `its ${byteCount(size)} do not fit into memory`;
      throw new FormatError(this.path, `tensor ${excerpt(name)}: ${problem}`, { cause });
    }
  }

  /** A second call does nothing. */
  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

/** The bytes of the header's JSON. */
function readHeader(path: string, fd: number): Uint8Array {
  const { size } = fstatSync(fd);
  const start = Buffer.alloc(LFS_POINTER.length);
  const count = readFully(fd, start, 0);
  if (start.toString('latin1') === LFS_POINTER) {
    throw new FormatError(path, 'this is a Git LFS pointer, not the weights; fetch them with `git lfs pull`');
  }
  if (count < LENGTH_BYTES) {
    const found =
      count === 0 ? 'the file is empty' : `${byteCount(count)} are too few; the file is cut short`;
    throw new FormatError(path, `${found}; download or copy it again`);
  }
  const length = start.readBigUInt64LE(0);
  if (length > MAX_HEADER_BYTES) {
    const other = otherKind(start);
    if (other) throw new FormatError(path, `this is ${other.name}, not a safetensors file`);
    const limit = `more than the format's ${MAX_HEADER_BYTES}; this is not a safetensors file`;
    throw new FormatError(path, `its first 8 bytes announce a header of ${length} bytes, ${limit}`);
  }
  if (Number(length) > size - LENGTH_BYTES) {
    throw new FormatError(
      path,
      `the header should have ${length} bytes, but only ${size - LENGTH_BYTES} follow; the file is cut short`,
    );
  }
  const json = new Uint8Array(Number(length));
  if (readFully(fd, json, LENGTH_BYTES) !== json.length) {
    throw new FormatError(path, 'the file was cut short while it was read');
  }
  // The format demands the bracket, and JSON.parse would let white space pass before it.
  if (json[0] !== 0x7b) throw new FormatError(path, 'the header does not begin with "{"');
  return json;
}
