import { describe, expect, it } from 'vitest';
import { keep, memory, ones, type Tensor, tidy, zeros } from './index.js';

it('nothing stays of a scope whose result cannot be looked through', () => {
  const before = memory();
  const trap = {
    get tensor(): never {
      throw new Error('a trap');
    },
  };
  expect(() => tidy(() => [ones([1]), trap])).toThrow('a trap');
  expect(memory()).toEqual(before);
});

describe('tidy', () => {
  it('disposes what is made in it and returns the result', () => {
    const made: Tensor[] = [];
    const before = memory();
    const result = tidy(() => {
      made.push(ones([1000]), zeros([1000]));
      return made[0]!.add(made[1]!).sum().item();
    });
    expect(result).toBe(1000);
    expect(made.map((t) => t.disposed)).toEqual([true, true]);
    expect(memory()).toEqual(before);
  });

  it('lets tensors in the result live: alone, in arrays, objects and maps, also circular', () => {
    const circle: { self?: unknown; t?: Tensor } = {};
    const kept = tidy(() => {
      circle.self = circle;
      circle.t = ones([1]);
      return { list: [ones([1]), [ones([1])]], map: new Map([['a', ones([1])]]), circle, none: null };
    });
    const [first, [second]] = kept.list as [Tensor, Tensor[]];
    const all = [first, second!, kept.map.get('a')!, circle.t!];
    expect(all.map((t) => t.disposed)).toEqual([false, false, false, false]);
    for (const t of all) t.dispose();
    expect(tidy(() => ones([1])).disposed).toBe(false);
  });

  it('hands what an inner scope returns to the outer one', () => {
    let inner: Tensor | undefined;
    let seen: boolean | undefined;
    tidy(() => {
      inner = tidy(() => ones([1]).add(1));
      seen = inner.disposed;
    });
    expect(seen).toBe(false);
    expect(inner!.disposed).toBe(true);
  });

  it('disposes when the body throws, in nested scopes too, and goes on working', () => {
    const before = memory();
    const fail = () =>
      tidy(() => {
        ones([1]);
        tidy(() => {
          ones([1]);
          throw new Error('inner');
        });
      });
    expect(fail).toThrow('inner');
    expect(memory()).toEqual(before);
    expect(tidy(() => ones([1]).item())).toBe(1);
    expect(memory()).toEqual(before);
  });

  it('refuses an async function and disposes what it made before its first await', async () => {
    let early: Tensor | undefined;
    const run = () =>
      tidy(async () => {
        early = ones([1]);
        await null;
        early.item(); // fails: the promise must not be reported as unhandled
      });
    expect(run).toThrow(/^tidy\(\) was given an async function/);
    expect(early!.disposed).toBe(true);
    await new Promise((done) => setTimeout(done, 5));
  });

  it('gives back a tensor that the body disposed as disposed', () => {
    const gone = tidy(() => {
      const t = ones([1]);
      t.dispose();
      return t;
    });
    expect(gone.disposed).toBe(true);
  });
});

describe('keep', () => {
  it('takes a tensor out of all running scopes', () => {
    let kept: Tensor | undefined;
    tidy(() => {
      tidy(() => {
        kept = keep(ones([4]));
      });
    });
    expect(kept!.disposed).toBe(false);
    kept!.dispose();
  });
});

describe('dispose', () => {
  it('frees at once, twice without harm, and by using', () => {
    const before = memory();
    let inside: Tensor;
    {
      using t = ones([1 << 20]);
      inside = t;
      expect(memory()).toEqual({ tensors: before.tensors + 1, bytes: before.bytes + (4 << 20) });
    }
    inside.dispose();
    expect(inside.disposed).toBe(true);
    expect(memory()).toEqual(before);
  });

  it('leaves memory that a view shares', () => {
    tidy(() => {
      const whole = ones([4]);
      const view = whole.narrow(0, 1, 2);
      whole.dispose();
      expect(view.toNumbers()).toEqual([1, 1]);
    });
  });
});
