/**
 * Makes random calls in a process of its own: `node run.test.helper.js SEED CALLS LOG [EPISODE]`. Before each call it
 * is written to LOG, so that the call that ends the process is known. Prints an account as JSON.
 */
import { openSync, writeSync } from 'node:fs';
import { describe } from '../describe.js';
import { dtypeSize, inferenceMode, memory, noGrad, OperatorError, Tensor, tidy } from '../index.js';
import { Random } from './random.test.helper.js';
import { type Call, typedCall, typedNames } from './typed-calls.test.helper.js';
import { createWorld, remember, type World } from './world.test.helper.js';
import { writtenCall, writtenNames } from './written-calls.test.helper.js';

const [seed, calls, logFile, only] = process.argv.slice(2) as [string, string, string, string?];
const log = openSync(logFile, 'w');
const CALLS_AN_EPISODE = 40;
const MOST_BYTES = 2 ** 22;

/** Calls of each name that were refused and that gave a result. */
const account: Record<string, { refused: number; valid: number }> = Object.fromEntries(
  [...typedNames, ...writtenNames].map((name) => [name, { refused: 0, valid: 0 }]),
);
const slowest = { ms: 0, call: '' };

/** Every tensor of a result is live, and each of its bytes can be read. */
function assertValid(result: unknown): void {
  for (const value of Array.isArray(result) ? result : [result]) {
    if (!(value instanceof Tensor) || value.disposed) continue;
    if (!value.shape.every((size) => Number.isInteger(size) && size >= 0))
      throw new Error(`shape [${value.shape}]`);
    const size = value.numel * dtypeSize(value.dtype);
    if (size <= MOST_BYTES && value.toBytes().length !== size) throw new Error(`${value} has other bytes`);
  }
}

function inMode<T>({ random }: World, body: () => T): T {
  if (random.chance(0.1)) return noGrad(body);
  return random.chance(0.03) ? inferenceMode(body) : body();
}

function make(world: World, { name, run, refusal }: Call): void {
  let result: unknown;
  try {
    result = inMode(world, run);
  } catch (error) {
    if (!(error instanceof Error)) throw new Error(`threw ${describe(error)}`);
    if (refusal && !(error instanceof OperatorError && error.message.startsWith(refusal)))
      throw new Error(`the message does not name the operator: ${error.message}`, { cause: error });
    account[name]!.refused++;
    return;
  }
  assertValid(result);
  account[name]!.valid++;
  remember(world, result);
}

function episode(index: number): void {
  const random = new Random(Number(seed), index);
  const world = createWorld(random);
  for (let k = 0; k < CALLS_AN_EPISODE; k++) {
    const typed = random.chance(0.8);
    const call = typed
      ? typedCall(world, random.pick(typedNames))
      : writtenCall(world, random.pick(writtenNames));
    const shown = `seed ${seed}, episode ${index}, call ${k}: ${call.name}${describe(call.args)}`.slice(
      0,
      1000,
    );
    writeSync(log, `${shown.padEnd(1000)}\n`, 0);
    const start = performance.now();
    try {
      make(world, call);
    } catch (error) {
      throw new Error(`${shown}: ${(error as Error).message}`, { cause: error });
    }
    const ms = performance.now() - start;
    if (ms > slowest.ms) Object.assign(slowest, { ms, call: shown });
    if (only !== undefined) console.error(shown);
  }
}

let rss = 0;
const episodes = Number(calls) / CALLS_AN_EPISODE;
const before = memory();
for (let index = 0; index < episodes; index++) {
  if (only !== undefined && index !== Number(only)) continue;
  tidy(() => episode(index));
  const after = memory();
  if (after.tensors !== before.tensors || after.bytes !== before.bytes)
    throw new Error(
      `seed ${seed}, episode ${index} leaves ${JSON.stringify(after)}, at the start ${JSON.stringify(before)}`,
    );
  rss = Math.max(rss, process.memoryUsage.rss());
}
console.log(JSON.stringify({ account, rss, slowest }));
