import { describe, expect, it } from 'vitest';
import { empty, Generator, getRngState, manualSeed, ones, setRngState } from './index.js';

const draw = (generator?: Generator) => empty([3]).uniform_(0, 1, { generator }).toNumbers();

describe('the process-wide generator', () => {
  it('draws what PyTorch draws for a seed', () => {
    manualSeed(0);
    // torch.manual_seed(0); torch.rand(3)
    expect(draw()).toEqual([0.49625658988952637, 0.7682217955589294, 0.08847743272781372]);
    manualSeed(0);
    // torch.manual_seed(0); torch.randn(3)
    const normal = empty([3]).normal_().toNumbers();
    [1.541, -0.2934, -2.1788].forEach((v, i) => {
      expect(normal[i]).toBeCloseTo(v, 4);
    });
  });

  it('goes on from a saved state', () => {
    const state = getRngState();
    const first = draw();
    expect(draw()).not.toEqual(first);
    setRngState(state);
    expect(draw()).toEqual(first);
  });
});

describe('Generator', () => {
  it('has a stream of its own, equal for equal seeds', () => {
    manualSeed(5);
    const expected = draw();
    manualSeed(5);
    const [a, b, c] = [new Generator(7), new Generator(7), new Generator(8)];
    expect(draw(a)).toEqual(draw(b));
    expect(draw(a)).not.toEqual(draw(c));
    expect(draw()).toEqual(expected);
  });

  it('gives its state and takes it back', () => {
    const generator = new Generator(1);
    draw(generator);
    const { state } = generator;
    const next = draw(generator);
    const other = new Generator(2);
    other.state = state;
    expect(draw(other)).toEqual(next);
  });
});

it('refuses seeds that are not whole and states that are none', () => {
  for (const seed of [Number.NaN, 1.5, 2 ** 60, 'a' as unknown as number, undefined as unknown as number]) {
    expect(() => manualSeed(seed)).toThrow(/^a seed is a whole number, found /);
    expect(() => new Generator(seed)).toThrow(/^a seed is a whole number/);
  }
  expect(() => setRngState(ones([3], { dtype: 'uint8' }))).toThrow(/state/i);
  const gone = getRngState();
  gone.dispose();
  expect(() => setRngState(gone)).toThrow('the state is a disposed tensor');
});
