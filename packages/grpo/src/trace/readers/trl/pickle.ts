/**
 * The plain values in a Python pickle: numbers, texts, lists and the attributes of objects. Nothing is imported and
 * nothing is called; what a pickle would construct is an object with its attributes, or its arguments.
 */

/** Where the reading of a pickle gives up. */
export class NotAPickle extends Error {}

/** More operations than any settings have. */
const MOST_OPERATIONS = 100_000;

const MARK = Symbol('mark');

/** The value of the pickle that begins at the first byte. */
export function unpickle(bytes: Buffer): unknown {
  const stack: unknown[] = [];
  const memo = new Map<number, unknown>();
  let at = 0;
  const take = (length: number) => {
    if (at + length > bytes.length) throw new NotAPickle('it ends too early');
    at += length;
    return at - length;
  };
  const text = (length: number) => {
    const start = take(length);
    return bytes.toString('utf8', start, start + length);
  };
  const lineText = () => {
    const end = bytes.indexOf(10, at);
    if (end < 0) throw new NotAPickle('it ends too early');
    const start = at;
    at = end + 1;
    return bytes.toString('utf8', start, end);
  };
  const pop = () => {
    if (stack.length === 0) throw new NotAPickle('its stack is empty');
    return stack.pop();
  };
  const sinceMark = () => {
    const mark = stack.lastIndexOf(MARK);
    if (mark < 0) throw new NotAPickle('a mark is missing');
    const items = stack.splice(mark);
    return items.slice(1);
  };
  const top = () => stack.at(-1);
  const operations: Record<number, () => void> = {
    128: () => void take(1), // PROTO
    149: () => void take(8), // FRAME
    40: () => void stack.push(MARK),
    78: () => void stack.push(null),
    136: () => void stack.push(true),
    137: () => void stack.push(false),
    75: () => void stack.push(bytes.readUInt8(take(1))),
    77: () => void stack.push(bytes.readUInt16LE(take(2))),
    74: () => void stack.push(bytes.readInt32LE(take(4))),
    138: () => void stack.push(longOf(bytes, take, bytes.readUInt8(take(1)))),
    71: () => void stack.push(bytes.readDoubleBE(take(8))),
    88: () => void stack.push(text(bytes.readUInt32LE(take(4)))),
    140: () => void stack.push(text(bytes.readUInt8(take(1)))),
    67: () => void stack.push(text(bytes.readUInt8(take(1)))),
    125: () => void stack.push({}),
    93: () => void stack.push([]),
    41: () => void stack.push([]),
    133: () => void stack.push([pop()]),
    134: () => void stack.push([pop(), pop()].reverse()),
    135: () => void stack.push([pop(), pop(), pop()].reverse()),
    116: () => void stack.push(sinceMark()),
    99: () => void stack.push({ global: `${lineText()}.${lineText()}` }),
    147: () => void stack.push({ global: [pop(), pop()].reverse().join('.') }),
    // What a class or a function would make of its arguments: an enumeration's member is its value.
    82: () => {
      const given = pop();
      pop();
      stack.push(Array.isArray(given) && given.length === 1 ? given[0] : given);
    },
    129: () => {
      pop();
      pop();
      stack.push({});
    },
    98: () => {
      const state = pop();
      assign(top(), state);
    },
    115: () => {
      const value = pop();
      const key = String(pop());
      assign(top(), { [key]: value });
    },
    117: () => {
      const items = sinceMark();
      for (let i = 0; i + 1 < items.length; i += 2) assign(top(), { [String(items[i])]: items[i + 1] });
    },
    97: () => {
      const value = pop();
      append(top(), [value]);
    },
    101: () => {
      const items = sinceMark();
      append(top(), items);
    },
    113: () => void memo.set(bytes.readUInt8(take(1)), top()),
    114: () => void memo.set(bytes.readUInt32LE(take(4)), top()),
    148: () => void memo.set(memo.size, top()),
    104: () => void stack.push(memo.get(bytes.readUInt8(take(1)))),
    106: () => void stack.push(memo.get(bytes.readUInt32LE(take(4)))),
  };
  for (let count = 0; count < MOST_OPERATIONS; count++) {
    const code = bytes[take(1)]!;
    if (code === 0x2e) return pop();
    const operation = operations[code];
    if (!operation) throw new NotAPickle(`its operation 0x${code.toString(16)} is not known`);
    operation();
  }
  throw new NotAPickle('it does not end');
}

function longOf(bytes: Buffer, take: (length: number) => number, length: number): number {
  const start = take(length);
  if (length === 0) return 0;
  if (length > 6) return Number.NaN;
  return bytes.readIntLE(start, length);
}

function assign(target: unknown, state: unknown): void {
  if (typeof target !== 'object' || target === null || typeof state !== 'object' || state === null) return;
  for (const [key, value] of Object.entries(state))
    Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
}

function append(target: unknown, items: readonly unknown[]): void {
  if (Array.isArray(target)) target.push(...items);
}
