import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { type Dice, fuzz, mutateBytes, mutateJson, replaceFile } from '../mutate.test.helper.js';
import { tempFolder } from '../temp-folder.test.helper.js';
import { DTYPE_BYTES, type SafetensorsDtype } from './dtype.js';
import { SafetensorsFile } from './file.js';
import { fixture } from './fixture.test.helper.js';

const COUNT = Number(process.env.GRPO_FUZZ ?? 6000);

interface Entry {
  dtype: SafetensorsDtype;
  shape: number[];
  data_offsets: [number, number];
}

/** The header's JSON and the data, by the length that the file gives. */
function split(bytes: Buffer): { header: Buffer; data: Buffer } {
  const start = 8 + Number(bytes.readBigUInt64LE(0));
  return { header: bytes.subarray(8, start), data: bytes.subarray(start) };
}

function assemble(header: Uint8Array, data: Uint8Array, length = BigInt(header.length)): Buffer {
  const size = Buffer.alloc(8);
  size.writeBigUInt64LE(BigInt.asUintN(64, length));
  return Buffer.concat([size, header, data]);
}

const whole = readFileSync(fixture('dtypes.safetensors'));
const { header, data } = split(whole);
const entries = JSON.parse(header.toString()) as Record<string, Entry>;

/** Moves the offsets of some tensors, so that they overlap, leave gaps, or point beyond the file. */
function moveOffsets(dice: Dice): unknown {
  const moved = structuredClone(entries);
  for (const entry of Object.values(moved)) {
    if (entry.data_offsets === undefined || dice.below(8) > 0) continue;
    const by = dice.of([1, -1, 4, -4, 8, 1e6, -1e6, 2 ** 53]);
    if (dice.below(2) > 0) entry.data_offsets[dice.below(2)]! += by;
    else entry.data_offsets = [entry.data_offsets[0] + by, entry.data_offsets[1] + by];
  }
  return moved;
}

/** The same tensors in another order: no damage. */
function reordered(dice: Dice): Buffer {
  const order = Object.entries(entries).sort(() => dice.below(2) - 0.5);
  return Buffer.from(JSON.stringify(Object.fromEntries(order), null, dice.below(4)));
}

const damages: readonly ((dice: Dice) => Buffer)[] = [
  (dice) => mutateBytes(dice, whole),
  (dice) => assemble(reordered(dice), data),
  (dice) => whole.subarray(0, dice.below(whole.length)),
  (dice) => Buffer.concat([whole, Buffer.alloc(1 + dice.below(20))]),
  (dice) => assemble(mutateBytes(dice, header), data),
  (dice) => assemble(Buffer.from(JSON.stringify(mutateJson(dice, entries))), data),
  (dice) => assemble(Buffer.from(JSON.stringify(moveOffsets(dice))), data),
  (dice) => {
    const shift = BigInt(dice.of([-9, -8, -1, 1, 8, 1e8, 2 ** 40, -(2 ** 62)]));
    return assemble(header, data, BigInt(header.length) + shift);
  },
  // A copy of an entry under the same or another name.
  (dice) => {
    const names = Object.keys(entries);
    const [name, other] = [dice.of(names), dice.of(names)];
    const extra = `,${JSON.stringify(dice.of([name, `${name}2`]))}:${JSON.stringify(entries[other])}}`;
    return assemble(Buffer.from(header.toString().trimEnd().replace(/\}$/, extra)), data);
  },
];

/** Every tensor has the bytes that the header promises, and they cover the data. */
function checkPromise({ file, bytes }: { file: SafetensorsFile; bytes: Buffer }): void {
  using open = file;
  const promise = split(bytes);
  const promised = JSON.parse(promise.header.toString()) as Record<string, Entry>;
  let covered = 0;
  for (const [name, { dtype, shape }] of open.tensors) {
    const [begin, end] = promised[name]!.data_offsets;
    expect([dtype, shape]).toEqual([promised[name]!.dtype, promised[name]!.shape]);
    expect(shape.reduce((product, size) => product * size, DTYPE_BYTES[dtype])).toBe(end - begin);
    expect(promise.data.subarray(begin, end).equals(open.read(name))).toBe(true);
    covered += end - begin;
  }
  expect(covered).toBe(promise.data.length);
}

it(`of ${COUNT} damaged safetensors files, each is refused in words or read as it promises`, () => {
  const path = join(tempFolder(), 'model.safetensors');
  const read = (dice: Dice, seed: number) => {
    const bytes = damages[seed % damages.length]!(dice);
    replaceFile(path, bytes);
    return { file: SafetensorsFile.open(path), bytes };
  };
  const { loaded, refused } = fuzz(COUNT, read, checkPromise);
  expect(refused).toBeGreaterThan(COUNT / 2);
  expect(loaded).toBeGreaterThan(COUNT / 20);
});
