import { afterEach, describe, expect, it } from 'vitest';
import {
  cat,
  type DType,
  empty,
  getThreads,
  grad,
  manualSeed,
  OperatorError,
  ones,
  segmentAttention,
  setThreads,
  type Tensor,
  tensor,
  tidy,
} from './index.js';

/** A segment's length and the index of its parent. */
type Tree = readonly (readonly [length: number, parent?: number])[];

const random = (...shape: number[]) => empty(shape).uniform_(-2, 2);
const numbers = (rows: readonly (readonly number[])[]) =>
  tensor(rows.flat(), [rows.length, 4], { dtype: 'int64' });

function rowsOf(tree: Tree): number[][] {
  const rows: number[][] = [];
  let start = 0;
  for (const [length, parent] of tree) {
    rows.push([start, length, ...(parent === undefined ? [0, 0] : rows[parent]!.slice(0, 2))]);
    start += length;
  }
  return rows;
}

/** What becomes of scores, as the operator takes it. */
interface Scores {
  scale?: number;
  window?: number;
  softcap?: number;
}

/** The same by a mask of all tokens with all, in float64. */
function attendAll(
  q: Tensor,
  k: Tensor,
  v: Tensor,
  rows: readonly (readonly number[])[],
  { scale, window = 0, softcap = 0 }: Scores = {},
): Tensor {
  const [tokens, heads, width] = q.shape as [number, number, number];
  const seen = new Uint8Array(tokens * tokens);
  for (const [start, length, parentStart, parentLength] of rows as [number, number, number, number][])
    for (let i = start; i < start + length; i++) {
      seen.fill(1, i * tokens + parentStart, i * tokens + parentStart + parentLength);
      seen.fill(1, i * tokens + start, i * tokens + i + 1);
      if (window === 0) continue;
      // The keys before the window: of the parent, and then of the segment itself.
      const past = parentLength + i - start + 1 - window;
      seen.fill(
        0,
        i * tokens + parentStart,
        i * tokens + parentStart + Math.max(0, Math.min(past, parentLength)),
      );
      seen.fill(0, i * tokens + start, i * tokens + start + Math.max(0, past - parentLength));
    }
  const mask = tensor(seen, [tokens, tokens], { dtype: 'bool' }).logicalNot();
  const perHead = (x: Tensor) =>
    x
      .to('float64')
      .repeatInterleave(heads / x.size(1), 1)
      .transpose(0, 1);
  const scores = perHead(q)
    .matmul(perHead(k).transpose(-2, -1))
    .mul(scale ?? 1 / Math.sqrt(width));
  const capped = softcap > 0 ? scores.div(softcap).tanh().mul(softcap) : scores;
  return capped.maskedFill(mask, Number.NEGATIVE_INFINITY).softmax(-1).matmul(perHead(v)).transpose(0, 1);
}

/** Largest difference relative to the largest number, or to 1: some gradients are 0. */
function distance(ours: Tensor, theirs: Tensor): number {
  expect(ours.shape).toEqual(theirs.shape);
  const difference = ours.to('float64').sub(theirs.to('float64')).abs().amax([]).item();
  return difference / Math.max(theirs.abs().amax([]).item(), 1);
}

function inputs(tree: Tree, [heads, keyHeads, width]: readonly number[], dtype: DType = 'float32'): Tensor[] {
  const tokens = tree.reduce((sum, [length]) => sum + length, 0);
  return [heads!, keyHeads!, keyHeads!].map((count) => {
    const leaf = random(tokens, count, width!).to(dtype);
    leaf.requiresGrad = true;
    return leaf;
  });
}

/** Distances of the output and of the gradients of query, key and value. */
function distances(
  tree: Tree,
  sizes: readonly number[],
  dtype: DType = 'float32',
  options: Scores = {},
): number[] {
  return tidy(() => {
    const leaves = inputs(tree, sizes, dtype);
    const [q, k, v] = leaves as [Tensor, Tensor, Tensor];
    const ours = segmentAttention(q, k, v, numbers(rowsOf(tree)), options);
    expect(ours.dtype).toBe(dtype);
    const theirs = attendAll(q, k, v, rowsOf(tree), options);
    const weight = random(...ours.shape).to(dtype);
    const gradients = grad([ours], leaves, [weight]);
    const expected = grad([theirs], leaves, [weight.to('float64')]);
    return [distance(ours, theirs), ...gradients.map((own, i) => distance(own!, expected[i]!))];
  });
}

const trees: Record<string, Tree> = {
  'one token': [[1]],
  'one segment': [[64]],
  'a parent without children': [[37], [5]],
  'one child': [[3], [70, 0]],
  'a group of unlike lengths': [[37], [5, 0], [70, 0], [33, 0], [1, 0]],
  'two groups, a lone segment between': [[64], [64, 0], [31, 0], [17], [9], [40, 4], [65, 4]],
  'empty segments': [[0], [12], [0, 1], [7, 1], [0], [3, 4], [0]],
  'children apart from their parent': [[20], [11], [6, 0], [8, 1], [4, 0]],
};

/** Heads, key heads, width. */
const shapes = [[1, 1, 16], [4, 2, 24], [2, 2, 64], [6, 2, 80], [2, 1, 128], [40, 1, 7], [8, 2, 32]]; // biome-ignore format: a table

const choices: Record<string, Scores> = {
  'a window of one token': { window: 1 },
  'a window within tiles': { window: 7 },
  'a window of several blocks': { window: 40 },
  'a scale of its own': { scale: 0.31 },
  'soft caps': { softcap: 1.5 },
  'a window, a scale and soft caps': { window: 21, scale: 0.9, softcap: 5 },
};

const threads = getThreads();
afterEach(() => setThreads(threads));

describe('segment attention', () => {
  const cases = Object.entries(trees).flatMap(([name, tree]) =>
    shapes.map((sizes) => ({ name, tree, sizes })),
  );

  it.each(cases)('of $name, [heads, key heads, width] $sizes, is that of a mask', ({ tree, sizes }) => {
    manualSeed(1);
    expect(Math.max(...distances(tree, sizes))).toBeLessThan(5e-6);
  });

  it.each(cases.filter(({ sizes: [heads] }) => heads === 6))(
    'of $name is near it in bfloat16',
    ({ tree, sizes }) => {
      manualSeed(2);
      const [out, ...gradients] = distances(tree, sizes, 'bfloat16');
      // Saved tensors and gradients are rounded to 8 bits.
      expect(out).toBeLessThan(2 ** -8);
      expect(Math.max(...gradients)).toBeLessThan(2 ** -6);
    },
  );

  it.each(
    Object.entries(choices).flatMap(([what, options]) =>
      Object.keys(trees).map((name) => ({ what, name, options })),
    ),
  )('with $what, of $name, is that of a mask', ({ name, options }) => {
    manualSeed(3);
    for (const sizes of [[4, 2, 24], [40, 1, 7]])
      expect(Math.max(...distances(trees[name]!, sizes, 'float32', options))).toBeLessThan(5e-6);
    const [out, ...gradients] = distances(trees[name]!, [4, 2, 24], 'bfloat16', options);
    expect(out).toBeLessThan(2 ** -8);
    expect(Math.max(...gradients)).toBeLessThan(2 ** -6);
  }); // biome-ignore format: sizes in a line

  it.each(['one child', 'a group of unlike lengths'])('of heads of 256, of %s, is that of a mask', (name) => {
    manualSeed(4);
    for (const options of [{}, { window: 30, softcap: 50 }])
      expect(Math.max(...distances(trees[name]!, [4, 1, 256], 'float32', options))).toBeLessThan(5e-6);
  });

  it('has the gradients that finite differences have', () => {
    tidy(() => {
      manualSeed(4);
      const tree = trees['children apart from their parent']!;
      const leaves = inputs(tree, [4, 2, 24]);
      const [q, k, v] = leaves as [Tensor, Tensor, Tensor];
      const rows = rowsOf(tree);
      const options = { window: 9, scale: 0.4, softcap: 3 };
      const weight = random(...q.shape);
      const gradients = grad([segmentAttention(q, k, v, numbers(rows), options)], leaves, [weight]);
      const h = 1e-5;
      for (const [i, gradient] of gradients.entries()) {
        const way = random(...leaves[i]!.shape).to('float64');
        const [above, below] = [h, -h].map((step) => {
          const moved = leaves.map((x, j) => (i === j ? x.to('float64').add(way, { alpha: step }) : x));
          const out = attendAll(...(moved as [Tensor, Tensor, Tensor]), rows, options);
          return out.mul(weight.to('float64')).sum().item();
        }) as [number, number];
        const slope = gradient!.to('float64').mul(way).sum().item();
        expect(slope).toBeCloseTo((above - below) / (2 * h), 4);
      }
    });
  });

  it.each(['float32', 'bfloat16'] as const)(
    'with a window that nothing is beyond is the same to the last bit, in %s',
    (dtype) => {
      tidy(() => {
        const tree = trees['a group of unlike lengths']!;
        const leaves = inputs(tree, [6, 2, 24], dtype);
        const [q, k, v] = leaves as [Tensor, Tensor, Tensor];
        const weight = random(...q.shape).to(dtype);
        const run = (options: Scores) => {
          const out = segmentAttention(q, k, v, numbers(rowsOf(tree)), options);
          return [out, ...grad([out], leaves, [weight])].map((x) => x!.detach().toBytes());
        };
        const plain = run({});
        const isPlain = (options: Scores) =>
          run(options).every((bytes, i) => Buffer.compare(bytes, plain[i]!) === 0);
        for (const window of [107, 108, 1000, 2 ** 40]) expect(isPlain({ window })).toBe(true);
        expect(isPlain({ window: 106 })).toBe(false);
        expect(isPlain({ scale: 1 / Math.sqrt(24) })).toBe(true);
      });
    },
  );

  it('with soft caps far beyond all scores is the plain one but for rounding', () => {
    tidy(() => {
      const tree = trees['a group of unlike lengths']!;
      const [q, k, v] = inputs(tree, [6, 2, 24]) as [Tensor, Tensor, Tensor];
      const out = (softcap: number) => segmentAttention(q, k, v, numbers(rowsOf(tree)), { softcap });
      for (const softcap of [1e4, 1e8]) expect(distance(out(softcap), out(0))).toBeLessThan(2e-6);
    });
  });

  it.each(Object.entries(choices))(
    'with %s, gives completions that share a prompt what each with a prompt of its own has, to the last bit',
    (_, options) => {
      tidy(() => {
        const lengths = [5, 70, 33];
        const [q, k, v] = inputs([[37], [108]], [6, 2, 24]) as [Tensor, Tensor, Tensor];
        const shared = segmentAttention(
          ...([q, k, v] as const),
          numbers(rowsOf([[37], ...lengths.map((length) => [length, 0] as const)])),
          options,
        );
        let start = 37;
        for (const length of lengths) {
          const [q1, k1, v1] = [q, k, v].map((x) => cat([x.narrow(0, 0, 37), x.narrow(0, start, length)]));
          const alone = segmentAttention(q1!, k1!, v1!, numbers([[0, 37 + length, 0, 0]]), options);
          const bytes = (x: Tensor, from: number) => x.detach().narrow(0, from, length).toBytes();
          expect(Buffer.compare(bytes(shared, start), bytes(alone, 37))).toBe(0);
          start += length;
        }
      });
    },
  );

  it('reads heads that lie in a joint projection, and gradients that are repeated without copying', () => {
    tidy(() => {
      const tree = trees['a group of unlike lengths']!;
      const joint = random(146, 8 * 24);
      joint.requiresGrad = true;
      const parts = () =>
        joint.splitWithSizes([96, 48, 48], -1).map((x) => x.view([146, -1, 24])) as [Tensor, Tensor, Tensor];
      const gradientOf = (out: Tensor) => grad([out.sumDim([1], true).sum()], [joint])[0]!;
      const ours = segmentAttention(...parts(), numbers(rowsOf(tree)));
      const theirs = attendAll(...parts(), rowsOf(tree));
      expect(distance(ours, theirs)).toBeLessThan(5e-6);
      expect(distance(gradientOf(ours), gradientOf(theirs))).toBeLessThan(5e-6);
      // Every second number of a wider tensor: not side by side.
      const [q, k, v] = parts().map((x) =>
        x.unsqueeze(-1).expand([-1, -1, -1, 2]).flatten(-2).view([146, -1, 24, 2]).select(-1, 1),
      );
      expect(distance(segmentAttention(q!, k!, v!, numbers(rowsOf(tree))), theirs)).toBeLessThan(5e-6);
    });
  });

  // Where there are more threads than families and key heads, several share one.
  it.each(['float32', 'bfloat16'] as const)(
    'is the same to the last bit on any number of threads, in %s',
    (dtype) => {
      const whole = [
        trees['two groups, a lone segment between']!,
        trees['a group of unlike lengths']!,
        [[300]],
      ];
      for (const tree of whole as Tree[])
        for (const options of [{}, { window: 40, softcap: 5 }])
          tidy(() => {
            const leaves = inputs(tree, [3, 1, 24], dtype);
            const [q, k, v] = leaves as [Tensor, Tensor, Tensor];
            const weight = random(...q.shape).to(dtype);
            const run = (count: number) => {
              setThreads(count);
              const out = segmentAttention(q, k, v, numbers(rowsOf(tree)), options);
              return [out, ...grad([out], leaves, [weight])].map((x) => x!.detach().toBytes());
            };
            const one = run(1);
            for (const count of [2, 3, 7])
              for (const [i, bytes] of run(count).entries()) expect(Buffer.compare(bytes, one[i]!)).toBe(0);
          });
    },
  );

  it.each([
    ['over their whole range', 0, (i: number) => -86 * (i / 5000)],
    ['of soft caps far from them', 50, (i: number) => 2 - 4 * (i / 5000)],
  ] as const)('weighs by exponentials that are right to 5e-7, %s', (_, softcap, scoreAt) => {
    tidy(() => {
      // Children of one token see a parent's key with score 0 and value 0, and their own with score x and value 1.
      const scores = Array.from({ length: 5000 }, (_, i) => Math.fround(scoreAt(i)));
      const column = (values: number[]) => tensor(values, [values.length, 1, 1]);
      const rows = [[0, 1, 0, 0], ...scores.map((_, i) => [i + 1, 1, 0, 1])];
      const keys = column([0, ...scores]);
      const out = segmentAttention(
        ones([5001, 1, 1]),
        keys,
        column([0, ...scores.map(() => 1)]),
        numbers(rows),
        { softcap },
      );
      const capped = (score: number) => (softcap > 0 ? softcap * Math.tanh(score / softcap) : score);
      const errors = out
        .toNumbers()
        .slice(1)
        .map((p, i) => Math.abs(p * (1 + Math.exp(-capped(scores[i]!))) - 1));
      expect(Math.max(...errors)).toBeLessThan(5e-7);
    });
  });

  it('survives scores of any size, and hides no NaN', () => {
    tidy(() => {
      const rows = numbers([
        [0, 2, 0, 0],
        [2, 2, 0, 2],
      ]);
      const column = (...values: number[]) => tensor(values, [4, 1, 1]);
      const value = column(1, 2, 3, 4);
      const out = (q: Tensor, k: Tensor) => segmentAttention(q, k, value, rows).toNumbers();
      expect(out(column(1, 1, 1, 1), column(-3e4, 3e4, -3e4, 6e4))).toEqual([1, 2, 2, 4]);
      const [first, ...rest] = out(column(1, Number.NaN, 1, 1), column(0, 0, 0, Number.NaN));
      expect([first, rest[1]]).toEqual([1, 2]);
      expect([rest[0], rest[2]]).toEqual([Number.NaN, Number.NaN]);
    });
  });

  it('is empty for no tokens', () => {
    tidy(() => {
      const none = empty([0, 2, 8]);
      expect(segmentAttention(none, none, none, empty([0, 4], { dtype: 'int64' })).shape).toEqual([0, 2, 8]);
    });
  });

  it('says that it has no second derivative', () => {
    tidy(() => {
      const leaves = inputs([[3]], [1, 1, 8]);
      const [q, k, v] = leaves as [Tensor, Tensor, Tensor];
      const out = segmentAttention(q, k, v, numbers([[0, 3, 0, 0]])).sum();
      expect(() => grad([out], leaves, undefined, { createGraph: true })).toThrow(/no second derivative/);
    });
  });
});

describe('segment attention refuses', () => {
  const x = ones([6, 2, 8]);
  const rows = [
    [0, 2, 0, 0],
    [2, 4, 0, 2],
  ];
  const table = numbers(rows);
  const changed = (...changes: number[][]) => numbers(rows.map((row, i) => changes[i] ?? row));
  const refused: [what: string, call: () => unknown, text: RegExp][] = [
    ['a gap', () => segmentAttention(x, x, x, changed(rows[0]!, [3, 3, 0, 2])), /segment 1 starts at token 3, the one before it ends at 2/],
    ['tokens twice', () => segmentAttention(x, x, x, changed(rows[0]!, [1, 5, 0, 2])), /segment 1 starts at token 1/],
    ['a negative length', () => segmentAttention(x, x, x, changed(rows[0]!, [2, -1, 0, 2])), /segment 1 has -1 tokens, 4 are left/],
    ['a length beyond the end', () => segmentAttention(x, x, x, changed(rows[0]!, [2, 5, 0, 2])), /segment 1 has 5 tokens, 4 are left/],
    ['tokens in no segment', () => segmentAttention(x, x, x, changed(rows[0]!, [2, 3, 0, 2])), /the segments hold 5 of 6 tokens/],
    ['part of a parent', () => segmentAttention(x, x, x, changed(rows[0]!, [2, 4, 0, 1])), /segment 1 continues the 1 tokens from 0, which are no segment before it/],
    ['a parent that is nowhere', () => segmentAttention(x, x, x, changed(rows[0]!, [2, 4, 2 ** 40, 2])), /segment 1 continues/],
    ['itself as parent', () => segmentAttention(x, x, x, changed(rows[0]!, [2, 4, 2, 4])), /segment 1 continues/],
    ['a parent with a parent', () => segmentAttention(x, x, x, numbers([[0, 2, 0, 0], [2, 2, 0, 2], [4, 2, 2, 2]])), /segment 2 continues/],
    ['a table of another type', () => segmentAttention(x, x, x, table.to('int32')), /segments are an int64 tensor/],
    ['a table of another shape', () => segmentAttention(x, x, x, table.flatten()), /segments are an int64 tensor/],
    ['float64', () => segmentAttention(x.to('float64'), x.to('float64'), x.to('float64'), table), /float32 or bfloat16, all the same/],
    ['two types', () => segmentAttention(x, x.to('bfloat16'), x.to('bfloat16'), table), /all the same/],
    ['fewer keys', () => segmentAttention(x, x.narrow(0, 0, 5), x.narrow(0, 0, 5), table), /key and value are \[N, key heads, width\]/],
    ['other values', () => segmentAttention(x, x, x.narrow(2, 0, 4), table), /key and value are/],
    ['heads that do not divide', () => segmentAttention(ones([6, 3, 8]), x, x, table), /a multiple of those of key/],
    ['no key heads', () => segmentAttention(x, x.narrow(1, 0, 0), x.narrow(1, 0, 0), table), /a multiple of those of key/],
    ['a window before the token', () => segmentAttention(x, x, x, table, { window: -1 }), /window is a number of tokens, or 0 for all, found -1/],
    ['a scale that is none', () => segmentAttention(x, x, x, table, { scale: Number.NaN }), /scale is a finite number, found nan/],
    ['a negative soft cap', () => segmentAttention(x, x, x, table, { softcap: -1 }), /softcap is a positive number, or 0 for none, found -1/],
    ['a width of 0', () => segmentAttention(...repeat(x.narrow(2, 0, 0)), table), /at least one number/],
  ]; // biome-ignore format: a table

  function repeat(t: Tensor): [Tensor, Tensor, Tensor] {
    return [t, t, t];
  }

  it.each(refused)('%s', (_, call, text) => {
    expect(() => tidy(call)).toThrow(OperatorError);
    expect(() => tidy(call)).toThrow(text);
  });

  it('a table that was changed before the backward pass', () => {
    const [leaf] = inputs([[2], [4, 0]], [1, 1, 8]) as [Tensor];
    const own = numbers(rows);
    const out = segmentAttention(leaf, leaf, leaf, own);
    own.fill_(1000);
    expect(() => out.sum().backward()).toThrow(/modified by an inplace operation/);
  });

  it('every table with two numbers changed, but for those that are right', () => {
    const good = rowsOf([[2], [1, 0], [1, 0]]).flat();
    const values = [-1, 0, 1, 2, 3, 4, 2 ** 40];
    let right = 0;
    tidy(() => {
      const q = random(4, 2, 3);
      for (let cell = 0; cell < good.length * good.length * values.length ** 2; cell++) {
        const at = [cell % 12, Math.floor(cell / 12) % 12];
        if (at[0]! >= at[1]!) continue;
        const table = [...good];
        table[at[0]!] = values[Math.floor(cell / 144) % 7]!;
        table[at[1]!] = values[Math.floor(cell / 1008)]!;
        const rows = [0, 4, 8].map((i) => table.slice(i, i + 4));
        tidy(() => {
          try {
            const out = segmentAttention(q, q, q, numbers(rows));
            right++;
            expect(distance(out, attendAll(q, q, q, rows))).toBeLessThan(5e-6);
          } catch (error) {
            expect(error).toBeInstanceOf(OperatorError);
          }
        });
      }
    });
    expect(right).toBeGreaterThan(20);
  });
});
