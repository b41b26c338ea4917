/** Damaged files for fuzz tests: one seed gives one file. */
import { rmSync, writeFileSync } from 'node:fs';
import { excerpt } from '../errors/printable.js';
import { UserError } from '../errors/user-error.js';
import { uniform } from '../maths/random.js';
import { isObject } from './json.js';

/** Numbers that follow from a seed. */
export class Dice {
  #draws = 0;
  constructor(private readonly seed: number) {}

  /** A whole number from 0 to `end` − 1. */
  below(end: number): number {
    return Math.floor(uniform(this.seed, this.#draws++) * end);
  }

  of<T>(choices: readonly T[]): T {
    return choices[this.below(choices.length)]!;
  }
}

/** Bytes that mean something to JSON, YAML or UTF-8, and those of long numbers. */
const TELLING = [
  ...Buffer.from('{}[]",:\\ \n\r\t\0-+.0129eEtfn#&*!|>%@`?~\'ux\x7f'),
  ...[0x80, 0xbf, 0xc0, 0xe9, 0xed, 0xf4, 0xf8, 0xfe, 0xff, 0x1f, 0x8b, 0xef],
];

/** `bytes` with one to four damages: bits turned, bytes put in, taken out, doubled, or moved; the end cut off. */
export function mutateBytes(dice: Dice, bytes: Uint8Array): Buffer {
  let out = Buffer.from(bytes);
  for (let n = 1 + dice.below(4); n > 0; n--) {
    const at = dice.below(out.length + 1);
    const length = 1 + dice.below(dice.of([1, 4, 16, 64]));
    const rest = out.subarray(Math.min(out.length, at + length));
    const piece = out.subarray(at, at + length);
    const replaced = [
      () => [out.subarray(0, at)],
      () => [out.subarray(0, at), Buffer.of(dice.of(TELLING)), out.subarray(at)],
      () => [out.subarray(0, at), Buffer.of(dice.of(TELLING)), out.subarray(at + 1)],
      () => [out.subarray(0, at), rest],
      () => [out.subarray(0, at), piece, piece, rest],
      () => [out.subarray(0, at), out.subarray(dice.below(out.length + 1)).subarray(0, length), rest],
      () => {
        const turned = Buffer.from(out);
        if (at < turned.length) turned[at]! ^= 1 << dice.below(8);
        return [turned];
      },
    ];
    out = Buffer.concat(dice.of(replaced)());
  }
  return out;
}

/** Values that a reader of JSON may stumble over. */
const ODD: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -1,
  1,
  2,
  7,
  0.5,
  1e12,
  -1e12,
  2 ** 31,
  2 ** 53,
  1e300,
  1e-300,
  '',
  'x',
  '1',
  'NaN',
  '\0',
  '\ud800',
  '../x',
  'a'.repeat(5000),
  [],
  [[]],
  [1, 2],
  ['x'],
  [null],
  {},
  { x: 1 },
  { type: 'x' },
  JSON.parse(`${'['.repeat(200)}${']'.repeat(200)}`),
];

/** A JSON value with one to three damages: a value replaced, taken out, doubled, or exchanged; a key renamed. */
export function mutateJson(dice: Dice, json: unknown): unknown {
  const root = { root: structuredClone(json) };
  for (let n = 1 + dice.below(3); n > 0; n--) {
    const places = placesIn(root);
    if (places.length === 0) break;
    const { holder, key } = dice.of(places);
    const other = dice.of(places);
    const damages = [
      () => put(holder, key, structuredClone(dice.of(ODD))),
      () => put(holder, key, structuredClone(dice.of(ODD))),
      () => (Array.isArray(holder) ? holder.splice(Number(key), 1) : delete holder[key]),
      () => put(holder, key, structuredClone(other.holder[other.key])),
      () =>
        isObject(holder) && put(holder, dice.of(['x', 'type', '__proto__', 'constructor', '0']), holder[key]),
      () => {
        const value = holder[key];
        if (typeof value === 'number')
          put(holder, key, dice.of([value + 1, value - 1, -value, value / 2, value * 1e9]));
        else if (typeof value === 'string') put(holder, key, value.slice(0, dice.below(value.length + 1)));
        else if (Array.isArray(value)) value.push(...value.slice(0, 3));
      },
    ];
    dice.of(damages)();
  }
  return root.root ?? null;
}

type Holder = Record<string, unknown>;

/** Sets a key as JSON.parse does: an assignment to `__proto__` would make no key. */
function put(holder: Holder, key: string, value: unknown): void {
  Object.defineProperty(holder, key, { value, configurable: true, enumerable: true, writable: true });
}

/** Every value, at any depth, by its holder; of a large list or object, some. */
function placesIn(root: Holder): { holder: Holder; key: string }[] {
  const places: { holder: Holder; key: string }[] = [];
  const open: Holder[] = [root];
  for (let holder = open.pop(); holder; holder = open.pop()) {
    const keys = Object.keys(holder);
    const step = Math.ceil(keys.length / 50);
    for (const [i, key] of keys.entries()) {
      const value = holder[key];
      if (i % step === 0) places.push({ holder, key });
      if ((isObject(value) || Array.isArray(value)) && places.length < 1000) open.push(value as Holder);
    }
  }
  return places;
}

/** Writes a file anew: some file systems flush one that is cut off and written over, which takes a hundred times as long. */
export function replaceFile(path: string, content: string | Uint8Array): void {
  rmSync(path, { force: true });
  writeFileSync(path, content);
}

/** How the files of a fuzz test ended. */
export interface Outcomes {
  loaded: number;
  refused: number;
}

/** Reads many damaged files. Whatever is refused must be refused as people need it; all else is a bug. */
export function fuzz<T>(
  count: number,
  read: (dice: Dice, seed: number) => T,
  check: (value: T) => void,
): Outcomes {
  const outcomes = { loaded: 0, refused: 0 };
  for (let seed = 0; seed < count; seed++) {
    let value: T;
    try {
      value = read(new Dice(seed), seed);
    } catch (error) {
      requireUserError(error, seed);
      outcomes.refused++;
      continue;
    }
    check(value);
    outcomes.loaded++;
  }
  return outcomes;
}

/** An error that a person can act on: of our class, short, in one or two lines, and nothing in it steers a terminal. */
export function requireUserError(error: unknown, seed: number): void {
  if (!(error instanceof UserError)) throw new Error(`seed ${seed}: ${String(error)}`, { cause: error });
  const { message } = error;
  if (message.length > 2000 || /[^\P{Cc}\n]/u.test(message))
    throw new Error(`seed ${seed}: ${excerpt(message)} of ${message.length} characters`);
}
