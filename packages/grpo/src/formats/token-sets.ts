import { UserError } from '../errors/user-error.js';

/** The way in which a set is coded: the lowest bit of its head. */
const GAPS = 0;
const BITMAP = 1;

/**
 * One set of token ids for each token of a text, stored compactly.
 *
 * A set begins with 2 × its size + its kind, as a varint (seven bits a byte, the lowest first, the high bit set in all
 * but the last). Kind 0 goes on with a varint for each id, rising: how many ids lie between it and the one before, or
 * before the first. Kind 1 is a bitmap: bit b of byte j is id 8 j + b, up to the byte of the last id. The shorter one is
 * taken, of two as short kind 0; so a set takes an eighth of the vocabulary in bytes, and three for its head, at most.
 */
export class TokenSets {
  /** Where each set begins in `data`, and where the last one ends. */
  readonly #starts: Float64Array;

  private constructor(
    /** Bytes of each set. */
    readonly lengths: Uint32Array,
    /** The sets, one behind the other. */
    readonly data: Uint8Array,
  ) {
    this.#starts = startsOf(lengths);
  }

  /** @param sets - the ids of each set rise, from 0 on */
  static of(sets: Iterable<ArrayLike<number>>): TokenSets {
    return joined(Array.from(sets, encode), (lengths, data) => new TokenSets(lengths, data));
  }

  /**
   * @param lengths - bytes of each set
   * @param data - the sets, one behind the other; not copied
   * @throws UserError where these are no such sets
   */
  static fromBytes(lengths: ArrayLike<number>, data: Uint8Array): TokenSets {
    const sets = new TokenSets(Uint32Array.from(lengths), data);
    const found = sets.#starts[sets.length]!;
    if (found !== data.length) fail(`they should take ${found} bytes and take ${data.length}`);
    for (let i = 0; i < sets.length; i++) check(sets.bytes(i), i);
    return sets;
  }

  static concat(parts: readonly TokenSets[]): TokenSets {
    return joined(
      parts.flatMap((part) => Array.from({ length: part.length }, (_, i) => part.bytes(i))),
      (lengths, data) => new TokenSets(lengths, data),
    );
  }

  /** The number of sets. */
  get length(): number {
    return this.lengths.length;
  }

  /** How many ids a set has. */
  size(i: number): number {
    return headOf(this.bytes(i)).size;
  }

  /** Whether a set has an id. */
  has(i: number, id: number): boolean {
    const bytes = this.bytes(i);
    const { size, kind, end } = headOf(bytes);
    if (kind === BITMAP) return ((bytes[end + (id >> 3)] ?? 0) & (1 << (id & 7))) !== 0;
    for (let at = end, next = 0, k = 0; k < size && next <= id; k++) {
      const gap = varint(bytes, at);
      at = gap.end;
      next += gap.value + 1;
      if (next === id + 1) return true;
    }
    return false;
  }

  /** The ids of a set, rising. */
  ids(i: number): Uint32Array {
    const bytes = this.bytes(i);
    const { size, kind, end } = headOf(bytes);
    const ids = new Uint32Array(size);
    let found = 0;
    if (kind === BITMAP) {
      for (let j = end; j < bytes.length; j++)
        for (let bits = bytes[j]!; bits !== 0; bits &= bits - 1)
          ids[found++] = 8 * (j - end) + 31 - Math.clz32(bits & -bits);
      return ids;
    }
    let next = 0;
    for (let at = end; found < size; ) {
      const gap = varint(bytes, at);
      at = gap.end;
      next += gap.value;
      ids[found++] = next++;
    }
    return ids;
  }

  /** A set as it is stored. */
  bytes(i: number): Uint8Array {
    return this.data.subarray(this.#starts[i], this.#starts[i + 1]);
  }
}

function startsOf(lengths: ArrayLike<number>): Float64Array {
  const starts = new Float64Array(lengths.length + 1);
  for (let i = 0; i < lengths.length; i++) starts[i + 1] = starts[i]! + lengths[i]!;
  return starts;
}

function joined<T>(parts: readonly Uint8Array[], make: (lengths: Uint32Array, data: Uint8Array) => T): T {
  const lengths = Uint32Array.from(parts, (part) => part.length);
  const starts = startsOf(lengths);
  const data = new Uint8Array(starts[parts.length]!);
  for (const [i, part] of parts.entries()) data.set(part, starts[i]);
  return make(lengths, data);
}

function encode(ids: ArrayLike<number>): Uint8Array {
  const gaps: number[] = [];
  let next = 0;
  for (let i = 0; i < ids.length; i++) {
    const id = ids[i]!;
    if (!Number.isInteger(id) || id < next || id > MOST_ID)
      throw new RangeError(`ids rise from 0 to ${MOST_ID}; found ${id} at place ${i}`);
    pushVarint(gaps, id - next);
    next = id + 1;
  }
  const width = (next + 7) >> 3;
  const head: number[] = [];
  pushVarint(head, 2 * ids.length + (gaps.length <= width ? GAPS : BITMAP));
  if (gaps.length <= width) return Uint8Array.from([...head, ...gaps]);
  const bytes = new Uint8Array(head.length + width);
  bytes.set(head);
  for (let i = 0; i < ids.length; i++) bytes[head.length + (ids[i]! >> 3)]! |= 1 << (ids[i]! & 7);
  return bytes;
}

/** Far above every vocabulary; twice a count stays a number of 32 bits. */
const MOST_ID = 2 ** 28 - 1;

function pushVarint(to: number[], value: number): void {
  let rest = value;
  for (; rest >= 0x80; rest >>>= 7) to.push((rest & 0x7f) | 0x80);
  to.push(rest);
}

/** A number and where it ends; NaN where the bytes end before, or it is longer than any of ours. */
function varint(bytes: Uint8Array, start: number): { value: number; end: number } {
  let value = 0;
  for (let i = 0; i < 5; i++) {
    const byte = bytes[start + i];
    if (byte === undefined) break;
    value += (byte & 0x7f) * 2 ** (7 * i);
    if (byte < 0x80) return { value, end: start + i + 1 };
  }
  return { value: Number.NaN, end: bytes.length };
}

function headOf(bytes: Uint8Array): { size: number; kind: number; end: number } {
  const { value, end } = varint(bytes, 0);
  return { size: Math.floor(value / 2), kind: value % 2, end };
}

/** @throws UserError where a set's bytes are none */
function check(bytes: Uint8Array, place: number): void {
  const { size, kind, end } = headOf(bytes);
  if (Number.isNaN(size)) fail(`the one of token ${place} has no size`);
  let found = 0;
  if (kind === BITMAP) {
    for (let j = end; j < bytes.length; j++) for (let bits = bytes[j]!; bits !== 0; bits &= bits - 1) found++;
    if (bytes.length > 0 && 8 * (bytes.length - end) > MOST_ID + 1)
      fail(`the one of token ${place} is too long`);
  } else {
    for (let at = end, next = 0; at < bytes.length; found++) {
      const gap = varint(bytes, at);
      at = gap.end;
      next += gap.value + 1;
      if (!(next <= MOST_ID + 1)) fail(`the one of token ${place} has an id that is none`);
    }
  }
  if (found !== size) fail(`the one of token ${place} should have ${size} ids and has ${found}`);
}

function fail(what: string): never {
  throw new UserError(`the recorded sets of tokens are damaged: ${what}`, {
    hint: 'write the file anew; it was cut off or changed since',
  });
}
