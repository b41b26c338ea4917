import { describe, expect, it } from 'vitest';
import * as torch from './index.js';
import {
  addNorm,
  type DType,
  decodeAttention,
  drawTokens,
  empty,
  getThreads,
  noGrad,
  ones,
  setThreads,
  type Tensor,
  tensor,
  tidy,
  zeros,
} from './index.js';

const random = (dtype: DType, ...shape: number[]) => empty(shape).uniform_(-1, 1).to(dtype);

/** Largest difference relative to the largest number. */
function distance(ours: Tensor, theirs: Tensor): number {
  expect(ours.shape).toEqual(theirs.shape);
  const wide = theirs.to('float32');
  return ours.to('float32').sub(wide).abs().amax([]).item() / wide.abs().amax([]).item();
}

const boundOf = (dtype: DType) => (dtype === 'float32' ? 1e-5 : 0.02);
const int64 = (values: number[], shape?: number[]) => tensor(values, shape, { dtype: 'int64' });
const range = (n: number) => Array.from({ length: n }, (_, i) => i);

/** The same on one thread and on two, to the byte. */
function onAnyThreads<T extends Tensor | Tensor[]>(run: () => T): T {
  const before = getThreads();
  try {
    const [one, two] = [1, 2].map((threads) => {
      setThreads(threads);
      return run();
    }) as [T, T];
    const bytes = (all: T) => Buffer.concat([all].flat().map((t) => (t as Tensor).toBytes()));
    expect(bytes(two).equals(bytes(one))).toBe(true);
    return one;
  } finally {
    setThreads(before);
  }
}

interface Shape {
  heads: number;
  kvHeads: number;
  width: number;
  prompts: number[];
  /** Prompt and length of each row. */
  rows: [prompt: number, length: number][];
  norms?: boolean;
  /** Whether heads are turned, or how many of their numbers. */
  turned?: boolean | number;
  options?: { scale?: number; window?: number; softcap?: number };
}

/** Arguments of a decode step in which the rows have places from the last to the first, with one to spare. */
function decoding({ heads, kvHeads, width, prompts, rows, norms, turned, options }: Shape, dtype: DType) {
  const [n, blocks, padded] = [rows.length, 4, 16 * Math.ceil(width / 16)];
  const promptBlocks = Math.max(1, Math.ceil(Math.max(...prompts) / 16));
  const half = (turned === true ? width : turned || 0) / 2;
  return {
    query: random(dtype, n, heads * width),
    key: random(dtype, n, kvHeads * width),
    value: random(dtype, n, kvHeads * width),
    ownKeys: random(dtype, n + 1, kvHeads, blocks, padded, 16),
    ownValues: random(dtype, n + 1, kvHeads, 16 * blocks, padded),
    promptKeys: random(dtype, prompts.length, kvHeads, promptBlocks, padded, 16),
    promptValues: random(dtype, prompts.length, kvHeads, 16 * promptBlocks, padded),
    rows: int64(
      rows.flatMap(([prompt, length], i) => [n - i, prompt, prompts[prompt]!, length]),
      [n, 4],
    ),
    cos: half > 0 ? random(dtype, n, 1, half) : null,
    sin: half > 0 ? random(dtype, n, 1, half) : null,
    queryNorm: norms ? random(dtype, width) : null,
    keyNorm: norms ? random(dtype, width) : null,
    options,
  };
}

type Arguments = ReturnType<typeof decoding>;

const attend = (a: Arguments) =>
  decodeAttention(
    ...[a.query, a.key, a.value, a.ownKeys, a.ownValues, a.promptKeys, a.promptValues, a.rows] as const,
    ...[a.cos, a.sin, a.queryNorm, a.keyNorm, 1e-6, a.options] as const,
  ); // biome-ignore format: in the order of the schema

/** The same, a row and a head at a time, in float32. */
function plainly(a: Arguments, { heads, kvHeads, width, prompts, rows, options }: Shape): Tensor {
  const { scale = 1 / Math.sqrt(width), window = 0, softcap = 0 } = options ?? {};
  const wide = (x: Tensor) => x.to('float32');
  const turn = (x: Tensor, i: number, norm: Tensor | null) => {
    const all = wide(x).view([-1, width]);
    const normed = norm ? torch.rmsNorm(all, wide(norm), 1e-6) : all;
    if (!a.cos || !a.sin) return normed;
    const [cos, sin] = [a.cos, a.sin].map((t) => wide(t.select(0, i))) as [Tensor, Tensor];
    const half = cos.size(-1);
    const [p, q, rest] = normed.splitWithSizes([half, half, width - 2 * half], -1) as [
      Tensor,
      Tensor,
      Tensor,
    ];
    return torch.cat([p.mul(cos).sub(q.mul(sin)), q.mul(cos).add(p.mul(sin)), rest], -1);
  };
  // Keys lie a dimension after another within sixteen tokens.
  const keysOf = (cache: Tensor, at: number, head: number, length: number) =>
    wide(cache.select(0, at).select(0, head).transpose(-2, -1))
      .flatten(0, 1)
      .narrow(0, 0, length)
      .narrow(1, 0, width);
  const valuesOf = (cache: Tensor, at: number, head: number, length: number) =>
    wide(cache.select(0, at).select(0, head)).narrow(0, 0, length).narrow(1, 0, width); // biome-ignore format: one line each
  const out = rows.flatMap(([prompt, length], i) => {
    const place = rows.length - i;
    const [q, k] = [turn(a.query.select(0, i), i, a.queryNorm), turn(a.key.select(0, i), i, a.keyNorm)];
    const v = wide(a.value.select(0, i)).view([-1, width]);
    return range(heads).map((head) => {
      const of = Math.floor((head * kvHeads) / heads);
      const seen = (mine: typeof keysOf, shared: Tensor, own: Tensor, fresh: Tensor) =>
        torch.cat([
          mine(shared, prompt, of, prompts[prompt]!),
          mine(own, place, of, length),
          fresh.narrow(0, of, 1),
        ]);
      const scores = seen(keysOf, a.promptKeys, a.ownKeys, k).matmul(q.select(0, head)); // biome-ignore format: as above
      const capped =
        softcap > 0
          ? scores
              .mul(scale / softcap)
              .tanh()
              .mul(softcap)
          : scores.mul(scale);
      const past = window > 0 ? Math.max(0, capped.size(0) - window) : 0;
      const weights = capped.narrow(0, past, capped.size(0) - past).softmax(-1);
      const values = seen(valuesOf, a.promptValues, a.ownValues, v);
      return weights.matmul(values.narrow(0, past, weights.size(0)));
    });
  });
  return torch.cat(out).view([rows.length, heads * width]);
}

const shapes: [what: string, shape: Shape][] = [
  ['heads of their own', { heads: 3, kvHeads: 3, width: 64, prompts: [20], rows: [[0, 0], [0, 15]] }],
  ['grouped heads, turned', { heads: 8, kvHeads: 2, width: 32, prompts: [64, 17], rows: [[1, 3], [0, 63], [1, 16]], turned: true }],
  ['seven heads a key head', { heads: 7, kvHeads: 1, width: 16, prompts: [5], rows: [[0, 1]], turned: true }],
  ['normed and turned', { heads: 4, kvHeads: 2, width: 128, prompts: [33, 1, 16], rows: [[2, 31], [0, 32], [1, 0], [0, 5]], norms: true, turned: true }],
  ['tiles of several rows', { heads: 6, kvHeads: 2, width: 40, prompts: [20, 5], rows: [[0, 3], [0, 60], [1, 9], [0, 0], [0, 16], [0, 15], [1, 2]], turned: true }],
  ['tiles of eight rows, and the rest', { heads: 2, kvHeads: 2, width: 64, prompts: [50], rows: [[0, 3], [0, 60], [0, 0], [0, 16], [0, 15], [0, 31], [0, 2], [0, 47], [0, 48], [0, 5], [0, 6]] }],
  ['tiles of rows behind one window', { heads: 2, kvHeads: 2, width: 16, prompts: [40], rows: [[0, 3], [0, 3], [0, 19], [0, 3], [0, 19], [0, 50], [0, 3], [0, 3]], options: { window: 20 } }],
  ['an odd width, no prompt', { heads: 2, kvHeads: 1, width: 3, prompts: [0], rows: [[0, 0], [0, 40]] }],
  ['a width between vectors', { heads: 6, kvHeads: 2, width: 24, prompts: [40], rows: [[0, 20], [0, 21]], norms: true, turned: true }],
  ['heads of 256, normed and turned', { heads: 4, kvHeads: 1, width: 256, prompts: [33], rows: [[0, 31], [0, 5]], norms: true, turned: true }],
  ['a quarter of a head turned', { heads: 4, kvHeads: 2, width: 48, prompts: [20], rows: [[0, 3], [0, 20]], norms: true, turned: 12 }],
  ['another scale', { heads: 4, kvHeads: 2, width: 48, prompts: [20], rows: [[0, 3], [0, 20]], options: { scale: 0.3 } }],
  ['soft caps', { heads: 5, kvHeads: 1, width: 48, prompts: [20], rows: [[0, 3], [0, 20]], options: { softcap: 0.7 } }],
  // Of the prompt a part, its last key, nothing; of the row's own tokens all, some, the new one alone.
  ['windows', { heads: 4, kvHeads: 2, width: 24, prompts: [5, 17, 60], rows: [[0, 3], [1, 19], [1, 20], [1, 18], [2, 61], [2, 0]], options: { window: 20 } }],
  ['a window of one token', { heads: 3, kvHeads: 1, width: 16, prompts: [5, 17], rows: [[0, 0], [0, 15], [0, 16], [1, 31]], options: { window: 1 } }],
  ['a window, a scale and soft caps', { heads: 6, kvHeads: 2, width: 64, prompts: [64, 33], rows: [[0, 3], [0, 20], [1, 62]], turned: 32, options: { window: 33, scale: 1, softcap: 2 } }],
]; // biome-ignore format: a table

describe('decode attention', () => {
  describe.each(['float32', 'bfloat16'] as const)('in %s', (dtype) => {
    it.each(shapes)("is libtorch's: %s", (_, shape) => {
      noGrad(() =>
        tidy(() => {
          const a = decoding(shape, dtype);
          const expected = plainly(a, shape);
          expect(
            distance(
              onAnyThreads(() => attend(a)),
              expected,
            ),
          ).toBeLessThan(boundOf(dtype));
          // The next token sees the entry that was written, and no other place has changed.
          const next = shape.rows.map(([prompt, length]) => [prompt, length + 1] as [number, number]);
          if (next.some(([, length]) => length >= 64)) return;
          const later = { ...shape, rows: next };
          const n = next.length;
          const again = { ...decoding(later, dtype), ownKeys: a.ownKeys, ownValues: a.ownValues };
          const both = { ...again, promptKeys: a.promptKeys, promptValues: a.promptValues };
          expect(both.rows.shape).toEqual([n, 4]);
          expect(distance(attend(both), plainly(both, later))).toBeLessThan(boundOf(dtype));
        }),
      );
    });
  });

  it("takes the norms' factors in float32", () => {
    tidy(() => {
      const shape: Shape = { heads: 4, kvHeads: 2, width: 24, prompts: [20], rows: [[0, 3], [0, 20]], norms: true, turned: true }; // biome-ignore format: one line
      const a = decoding(shape, 'bfloat16');
      const factors = { queryNorm: empty([24]).uniform_(0, 3), keyNorm: empty([24]).uniform_(0, 3) };
      expect(distance(attend({ ...a, ...factors }), plainly({ ...a, ...factors }, shape))).toBeLessThan(0.02);
      const same = { queryNorm: a.queryNorm!.to('float32'), keyNorm: a.keyNorm!.to('float32') };
      expect(attend({ ...a, ...same }).toBytes()).toEqual(attend(a).toBytes());
      expect(() => attend({ ...a, queryNorm: factors.queryNorm })).toThrow(/of one dtype/);
    });
  });

  it('with a window that nothing is beyond is the same to the last bit', () => {
    tidy(() => {
      const rows: Shape['rows'] = [[0, 3], [0, 20]]; // biome-ignore format: a table
      const a = decoding({ heads: 4, kvHeads: 2, width: 16, prompts: [20], rows }, 'float32');
      const out = (options: Shape['options']) => attend({ ...a, options }).toBytes();
      const plain = out({});
      expect(out({ scale: 0.25 })).toEqual(plain);
      for (const window of [41, 42, 2 ** 40]) expect(out({ window })).toEqual(plain);
      expect(out({ window: 40 })).not.toEqual(plain);
      const [capped] = [{ softcap: 1e5 }].map((options) => attend({ ...a, options }));
      expect(distance(capped!, attend(a))).toBeLessThan(1e-5);
    });
  });

  it.each([
    [8, { window: 18, softcap: 3 }],
    [6, {}],
    [2, {}],
  ])('gives a row of %d heads the same among others and alone, to the last bit: %o', (heads, options) => {
    tidy(() => {
      const rows: Shape['rows'] = [[1, 30], [0, 3], [0, 20], [1, 5], [0, 17]]; // biome-ignore format: a table
      const a = decoding({ heads, kvHeads: 2, width: 48, prompts: [20, 37], rows, options }, 'bfloat16');
      const all = attend(a);
      for (const i of rows.keys()) {
        const of = (x: Tensor) => x.narrow(0, i, 1);
        const alone = { ...a, query: of(a.query), key: of(a.key), value: of(a.value), rows: of(a.rows) };
        expect(attend(alone).toBytes()).toEqual(of(all).toBytes());
      }
    });
  });

  const shape: Shape = { heads: 4, kvHeads: 2, width: 16, prompts: [20], rows: [[0, 3], [0, 5]], turned: true }; // biome-ignore format: one line
  const table = (...rows: number[][]) => ({ rows: int64(rows.flat(), [rows.length, 4]) });
  const wrong: [what: string, change: (a: Arguments) => Partial<Arguments>, text: RegExp][] = [
    ['a place beyond the cache', () => table([3, 0, 20, 3], [1, 0, 20, 5]), /a place is 3, out of range \[0, 3\)/],
    ['a place before it', () => table([-1, 0, 20, 3], [1, 0, 20, 5]), /a place is -1/],
    ['one place for two', () => table([1, 0, 20, 3], [1, 0, 20, 5]), /two rows have place 1/],
    ['a prompt that is not there', () => table([0, 1, 20, 3], [1, 0, 20, 5]), /a prompt is 1, out of range/],
    ['a prompt too long', () => table([0, 0, 33, 3], [1, 0, 20, 5]), /a prompt's length is 33/],
    ['a column beyond the cache', () => table([0, 0, 20, 64], [1, 0, 20, 5]), /a column is 64/],
    ['a table of another length', () => table([0, 0, 20, 3]), /rows must be int64 \[2, 4\]/],
    ['a table of floats', () => ({ rows: zeros([2, 4]) }), /rows must be int64/],
    ['keys of another dtype', (a) => ({ key: a.key.to('bfloat16') }), /one dtype/],
    ['float64', (a) => ({ query: a.query.to('float64') }), /float32 or bfloat16, found Double/],
    ['a query of odd heads', () => ({ query: zeros([2, 40]) }), /a multiple of the 2 of key/],
    ['fewer values', (a) => ({ value: a.value.narrow(0, 0, 1) }), /value must be \[2, 32\]/],
    ['a query on its side', (a) => ({ query: a.query.t().contiguous().t() }), /query must have its last dimension/],
    ['a cache of repeated memory', () => ({ ownKeys: zeros([1, 2, 4, 16, 16]).expand([3, -1, -1, -1, -1]) }), /own keys must be .* contiguous/],
    ['values of fewer columns', (a) => ({ ownValues: a.ownValues.narrow(2, 0, 48).contiguous() }), /own values must be \[3, 2, 64, 16\]/],
    ['prompts of another width', () => ({ promptKeys: zeros([1, 2, 2, 32, 16]) }), /prompt keys must be/],
    ['cos alone', () => ({ sin: null }), /come together/],
    ['too many that are turned', () => ({ cos: zeros([2, 1, 9]), sin: zeros([2, 1, 9]) }), /turn 18 numbers, a head has 16/],
    ['a negative window', () => ({ options: { window: -1 } }), /window is a number of tokens/],
    ['soft caps without end', () => ({ options: { softcap: Number.POSITIVE_INFINITY } }), /softcap is a positive number/],
    ['a scale that is none', () => ({ options: { scale: Number.NaN } }), /scale is a finite number/],
    ['a short sin', (a) => ({ sin: a.sin!.narrow(0, 0, 1) }), /must hold \[2, 8\] numbers/],
    ['a norm too short', () => ({ queryNorm: ones([8]) }), /query_norm must be \[16\]/],
  ]; // biome-ignore format: a table

  it.each(wrong)('refuses %s', (_, change, text) => {
    tidy(() => {
      const a = decoding(shape, 'float32');
      attend(a);
      expect(() => attend({ ...a, ...change(a) })).toThrow(text);
    });
  });

  it('refuses to lose a gradient', () => {
    tidy(() => {
      const a = decoding(shape, 'float32');
      a.query.requiresGrad = true;
      expect(() => attend(a)).toThrow(/no gradient/);
      expect(() => addNorm(a.query, null, ones([64]), null, 1)).toThrow(/no gradient/);
      noGrad(() => attend(a));
    });
  });
});

describe.each(['float32', 'bfloat16'] as const)('between products, in %s', (dtype) => {
  it.each([
    [5, 48],
    [1, 7],
    [3, 16],
    [300, 130],
  ])('a sum and its norm of [%d, %d] are those of libtorch', (n, width) => {
    tidy(() => {
      const [x, wide] = [random(dtype, n, width), random(dtype, n, width + 3)];
      // A view of rows that lie further apart.
      const delta = wide.narrow(1, 1, width);
      const [weight, bias] = [random(dtype, width), random(dtype, width)];
      for (const [added, shift] of [[delta, bias], [delta, null], [null, bias], [null, null]] as const) {
        const [sum, normed] = onAnyThreads(() => addNorm(x, added, weight, shift, 1e-3));
        const expected = added ? x.add(added) : x;
        expect(Buffer.compare(sum!.toBytes(), expected.toBytes())).toBe(0);
        // In float64 norms are those of libtorch.
        const [row, factors] = [expected.to('float64'), weight.to('float64')];
        const norm = shift
          ? torch.layerNorm(row, factors, shift.to('float64'), 1e-3)
          : torch.rmsNorm(row, factors, 1e-3);
        expect(distance(normed!, norm)).toBeLessThan(dtype === 'float32' ? 1e-5 : 2 ** -8);
      } // biome-ignore format: pairs
    });
  });

  it('a share is added, without a norm too, and factors in float32 are not rounded first', () => {
    tidy(() => {
      const [x, delta] = [random(dtype, 5, 48), random(dtype, 5, 48)];
      const factors = empty([48]).uniform_(0, 2);
      const wide = x.to('float32').add(delta.to('float32'), { alpha: 0.22 });
      const [sum, normed] = onAnyThreads(() => addNorm(x, delta, factors, null, 1e-3, { factor: 0.22 }));
      expect(Buffer.compare(sum!.toBytes(), wide.to(dtype).toBytes())).toBe(0);
      const norm = torch.rmsNorm(sum!.to('float64'), factors.to('float64'), 1e-3);
      expect(distance(normed!, norm)).toBeLessThan(dtype === 'float32' ? 1e-6 : 2 ** -8);
      const alone = addNorm(x, delta, null, null, 1e-3, { factor: 0.22 });
      for (const found of alone) expect(Buffer.compare(found.toBytes(), sum!.toBytes())).toBe(0);
    });
  });

  it('refuse what does not fit', () => {
    tidy(() => {
      const x = random(dtype, 2, 6);
      expect(() => addNorm(x, x.narrow(0, 0, 1), ones([6]).to(dtype), null, 1)).toThrow(/delta must be \[2, 6\]/);
      expect(() => addNorm(x, null, ones([5]).to(dtype), null, 1)).toThrow(/weight must be \[6\]/);
      expect(() => addNorm(x, null, ones([6]).to(dtype), ones([1]).to(dtype), 1)).toThrow(/bias must be/);
      expect(() => addNorm(x, null, null, ones([6]).to(dtype), 1)).toThrow(/bias comes with a weight/);
      expect(() => addNorm(x, null, ones([6]).to('float64'), null, 1)).toThrow(/weight must be float32|weight must be Float/i);
      expect(() => addNorm(x.narrow(1, 0, 0), null, ones([0]).to(dtype), null, 1)).toThrow(/x must be/);
    }); // biome-ignore format: one a line
  });
});

describe('a draw', () => {
  /** The rules of rows of one temperature, which draw from all tokens or from those that are not forbidden. */
  const rulesOf = (rows: number, temperature: number, [topK, topP, minP] = [0, 1, 0]) =>
    tensor(
      range(rows).flatMap(() => [temperature, topK!, topP!, minP!, 1, 0, 0, 0]),
      [rows, 8],
      { dtype: 'float64' },
    );

  /** Log-probs and cumulative probabilities by libtorch's operators in float64. */
  function plainly(logits: Tensor, temperature: number, forbidden: Tensor | null) {
    const scaled = logits.to('float64').div(temperature);
    const kept = forbidden ? scaled.maskedFill(forbidden, Number.NEGATIVE_INFINITY) : scaled;
    return { plain: scaled.logSoftmax(-1), drawn: kept.logSoftmax(-1), sums: kept.softmax(-1).cumsum(-1) };
  }

  /** Share of the whole probability: float32 rounds the exponentials, and so moves the bounds between tokens. */
  const ROUNDING = 1e-6;

  it.each([
    [4096, 4000, 1],
    [50_257, 150, 0.7],
    [1000, 1000, 1.3],
    [37, 3000, 1],
    [1, 5, 1],
  ])('of %d tokens, %d times at temperature %d, is the same', (vocab, rows, temperature) => {
    tidy(() => {
      const logits = empty([rows, vocab]).normal_(0, 3);
      const uniforms = empty([rows], { dtype: 'float64' }).uniform_(0, 1);
      const ends = tensor(range(vocab).map((id) => (vocab > 1 && id % 9 === 0 ? 1 : 0)), [vocab]).gt(tensor(0.5, []));
      for (const forbidden of [null, ends]) {
        const found = onAnyThreads(() => drawTokens(logits, uniforms, rulesOf(rows, temperature), { forbidden }));
        const { plain, drawn, sums } = plainly(logits, temperature, forbidden);
        const tokens = found[0]!.to('int64').unsqueeze(1);
        const ofTokens = (values: Tensor) => values.gather(1, tokens).squeeze(1);
        const above = ofTokens(sums);
        const below = above.sub(ofTokens(drawn).exp());
        // Each number lies on the piece of its token, but for the rounding of that piece's two bounds.
        expect(below.sub(uniforms).amax([-1]).item()).toBeLessThan(ROUNDING);
        expect(uniforms.sub(above).amax([-1]).item()).toBeLessThan(ROUNDING);
        for (const [k, scores] of [ofTokens(plain), ofTokens(drawn)].entries())
          expect(found[k + 1]!.to('float64').sub(scores).abs().amax([-1]).item()).toBeLessThan(1e-5);
      }
    }); // biome-ignore format: as above
  });

  // Some of the forbidden are the likeliest of their rows, some blocks have none, one has nothing else.
  it.each([
    [0, 1, 0],
    [0, 0.9, 0],
    [700, 1, 0.01],
  ])(
    'without forbidden tokens is one where they are −∞, to the bit: top-k %d, top-p %d, min-p %d',
    (...cuts) => {
      tidy(() => {
        const [rows, vocab] = [40, 3001];
        const isHidden = (id: number) => [3, 700, 701, 3000].includes(id) || (id >= 1024 && id < 1280);
        const forbidden = tensor(
          range(vocab).map((id) => Number(isHidden(id))),
          [vocab],
        ).to('bool');
        const logits = empty([rows, vocab]).normal_(0, 2);
        logits.select(0, 0).narrow(0, 700, 1).add_(30);
        const uniforms = empty([rows], { dtype: 'float64' }).uniform_(0, 1);
        const rules = rulesOf(rows, 0.8, cuts);
        const lowered = logits.maskedFill(forbidden, Number.NEGATIVE_INFINITY);
        const likeliest = logits.argmax(-1).toNumbers();
        expect(new Set(likeliest.map(isHidden)).size).toBe(2);
        const [tokens, , sampled, sets, sizes] = drawTokens(logits, uniforms, rules, {
          forbidden,
          support: true,
        });
        const expected = drawTokens(lowered, uniforms, rules, { support: true });
        expect(tokens.toNumbers()).toEqual(expected[0].toNumbers());
        expect(sampled.toNumbers()).toEqual(expected[2].toNumbers());
        expect(sets.toNumbers()).toEqual(expected[3].toNumbers());
        expect(sizes.toNumbers()).toEqual(expected[4].toNumbers());
      });
    },
  );

  /** The ids of coded sets: a size and a kind, then gaps or a bitmap. */
  function decoded(bytes: readonly number[], lengths: readonly number[]): number[][] {
    let at = 0;
    const varint = (): number => {
      const byte = bytes[at++]!;
      return byte < 128 ? byte : byte - 128 + 128 * varint();
    };
    return lengths.map((length) => {
      const end = at + length;
      const head = varint();
      const ids: number[] = [];
      if (head % 2 === 0) while (at < end) ids.push(varint() + (ids.at(-1) ?? -1) + 1);
      else
        for (let first = 0; at < end; first += 8)
          for (const bits = bytes[at++]!, b = range(8); b.length > 0; )
            if (bits & (1 << b[0]!)) ids.push(first + b.shift()!);
            else b.shift();
      expect(ids.length).toBe(head >> 1);
      return ids;
    });
  }

  // As wide as several samples of the search for a bound, with few likely tokens, many, and many ties.
  it.each([
    [0, 0.9, 0],
    [0, 0.3, 0],
    [5, 1, 0],
    [900, 1, 0],
    [0, 1, 0.1],
    [900, 0.8, 0.02],
  ])('keeps what top-k %d, top-p %d and min-p %d keep', (topK, topP, minP) => {
    tidy(() => {
      const [rows, vocab] = [12, 3001];
      const scales = tensor(range(rows).map((r) => [4, 1, 0.1, 1][r % 4]!), [rows, 1]);
      const smooth = empty([rows, vocab]).normal_(0, 1).mul(scales);
      const ties = smooth.mul(8).to('int64').to('float32').div(8);
      const logits = torch.where(tensor(range(rows).map((r) => r % 4), [rows, 1]).ge(tensor(3, [])), ties, smooth);
      const uniforms = empty([rows], { dtype: 'float64' }).uniform_(0, 1);
      const found = onAnyThreads(() =>
        drawTokens(logits, uniforms, rulesOf(rows, 1, [topK, topP, minP]), { support: true }),
      );
      const sets = decoded(found[3]!.toNumbers(), found[4]!.toNumbers());
      const all = logits.toNumbers();
      for (const [r, set] of sets.entries()) {
        const row = all.slice(r * vocab, (r + 1) * vocab);
        const falling = [...row].sort((a, b) => b - a);
        const weight = (x: number) => Math.exp(x - falling[0]!);
        const least = topK > 0 ? falling[topK - 1]! : -Infinity;
        const total = falling.reduce((sum, x) => sum + (x >= least ? weight(x) : 0), 0);
        // A token whose place is this near a bound may be kept or not.
        const [surely, maybe] = [-1e-6, 1e-6].map((slack) => {
          let before = 0;
          const nucleus = falling.filter((x) => {
            const is = x >= least && before < (topP + slack) * total;
            before += weight(x);
            return is;
          });
          const bound = Math.max(nucleus.at(-1)!, minP > 0 ? falling[0]! + Math.log(minP) - slack : -Infinity);
          return range(vocab).filter((id) => row[id]! >= bound);
        });
        for (const id of surely!) expect(set, `row ${r}`).toContain(id);
        for (const id of set) expect(maybe, `row ${r}`).toContain(id);
        const mass = set.reduce((sum, id) => sum + weight(row[id]!), 0);
        const token = found[0]!.toNumbers()[r]!;
        expect(set).toContain(token);
        expect(found[2]!.toNumbers()[r]).toBeCloseTo(Math.log(weight(row[token]!) / mass), 5);
        const below = set.reduce((sum, id) => sum + (id < token ? weight(row[id]!) : 0), 0) / mass;
        const u = uniforms.toNumbers()[r]!;
        expect(u).toBeGreaterThan(below - ROUNDING);
        expect(u).toBeLessThan(below + weight(row[token]!) / mass + ROUNDING);
      }
    }); // biome-ignore format: as above
  });

  it('at temperature 0 is the first of the likeliest', () => {
    tidy(() => {
      const logits = tensor([1, 5, 5, 2, 9, 0], [1, 6]);
      const uniforms = tensor([0.99], [1], { dtype: 'float64' });
      const forbidden = tensor([0, 0, 0, 0, 1, 0], [6]).to('bool');
      const [token, logprob, sampled] = drawTokens(logits, uniforms, rulesOf(1, 0), { forbidden });
      expect([token.item(), sampled.item()]).toEqual([1, 0]);
      expect(logprob.item()).toBeCloseTo(logits.logSoftmax(-1).select(1, 1).item(), 6);
      expect(drawTokens(logits, uniforms, rulesOf(1, 0))[0].item()).toBe(4);
    });
  });

  it.each([
    ['NaN', [1, Number.NaN, 2]],
    ['infinity', [1, Number.POSITIVE_INFINITY, 2]],
    ['nothing', [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY]],
  ])('of %s has no log-prob', (_, logits) => {
    tidy(() => {
      for (const temperature of [0, 1]) {
        const uniforms = tensor([0.5], [1], { dtype: 'float64' });
        const [token, ...scores] = drawTokens(
          tensor(logits, [1, 3]),
          uniforms,
          rulesOf(1, temperature),
        ).slice(0, 3);
        expect([0, 1, 2]).toContain(token!.item());
        for (const score of scores) expect(score.item()).toBeNaN();
      }
    });
  });

  it('refuses what does not fit', () => {
    tidy(() => {
      const [logits, uniforms] = [zeros([2, 5]), zeros([2], { dtype: 'float64' })];
      const rules = rulesOf(2, 1);
      const refusals: [() => unknown, RegExp][] = [
        [() => drawTokens(logits.to('bfloat16'), uniforms, rules), /logits must be float32/],
        [() => drawTokens(zeros([2, 0]), uniforms, rules), /logits must be/],
        [() => drawTokens(logits.t(), uniforms, rules), /last dimension/],
        [() => drawTokens(logits, zeros([2]), rules), /uniforms must be float64 \[2\]/],
        [() => drawTokens(logits, uniforms.narrow(0, 0, 1), rules), /uniforms must be/],
        [() => drawTokens(logits, uniforms, rules.narrow(0, 0, 1)), /rules must be float64 \[2, 8\]/],
        [() => drawTokens(logits, uniforms, rulesOf(2, -1)), /temperature/],
        [() => drawTokens(logits, uniforms, rulesOf(2, Number.NaN)), /temperature/],
        [() => drawTokens(logits, uniforms, rulesOf(2, 1, [-1, 1, 0])), /top-k .* found -1 in row 0/],
        [() => drawTokens(logits, uniforms, rulesOf(2, 1, [0, 0, 0])), /top-p .* found 0 in row 0/],
        [() => drawTokens(logits, uniforms, rulesOf(2, 1, [0, 1, 2])), /min-p .* found 2 in row 0/],
        [() => drawTokens(logits, uniforms, rules, { forbidden: zeros([4]).to('bool') }), /forbidden must be bool \[5\]/],
        [() => drawTokens(logits, uniforms, rules, { forbidden: zeros([5]) }), /forbidden must be bool/],
        [() => drawTokens(logits, uniforms, rules, { generated: int64([1]) }), /generated comes with its offsets/],
        [() => drawTokens(logits, uniforms, rules, { generated: int64([5]), generated_offsets: int64([0, 1, 1]) }), /ids below 5/],
        [() => drawTokens(logits, uniforms, rules, { generated: int64([1]), generated_offsets: int64([0, 1, 0]) }), /must rise/],
      ]; // biome-ignore format: a table
      for (const [call, text] of refusals) expect(call).toThrow(text);
    });
  });
});
