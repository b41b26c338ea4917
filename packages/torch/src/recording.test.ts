import { describe, expect, it } from 'vitest';
import { addNorm, cat, keep, memory, noGrad, Recording, type Tensor, tensor, tidy, unsafe } from './index.js';

/** Of `[N, 4]`: parts, a sum in place, operators whose work waits, and a weight that is no input. */
function compute(weight: Tensor) {
  return (x: Tensor, y: Tensor) => {
    const [left, right] = x.mul(y).splitWithSizes([1, 3], 1) as [Tensor, Tensor];
    const [sum, normed] = addNorm(right, right, weight, null, 1e-6);
    return cat([sum.add_(normed).mul(left), x, normed.mul(weight)], 1);
  };
}

const rows = (count: number, factor: number) =>
  tensor(
    Array.from({ length: 4 * count }, (_, i) => factor * Math.sin(i + factor)),
    [count, 4],
  );

describe('Recording', () => {
  it('gives what the calls give for inputs of any number of rows', () => {
    const weight = tensor([0.5, -2, 3]);
    let runs = 0;
    const plain = compute(weight);
    const recording = new Recording((x, y) => {
      runs++;
      return plain(x, y);
    });
    noGrad(() => {
      for (const count of [3, 1, 8, 3]) {
        const [x, y] = [rows(count, count), rows(count, 0.3)];
        const result = recording.run(x, y);
        expect(result.shape).toEqual([count, 10]);
        expect(result.toNumbers()).toEqual(plain(x, y).toNumbers());
      }
    });
    expect(runs).toBe(1);
  });

  it('holds tensors that are no inputs, and reads what is in them at the time', () => {
    const weight = tensor([1, 2, 3]);
    const recording = new Recording((x) => x.mul(weight));
    const x = tensor([1, 1, 2]);
    expect(recording.run(x).toNumbers()).toEqual([1, 2, 6]);
    weight.add_(1);
    weight.dispose();
    expect(recording.run(x).toNumbers()).toEqual([2, 3, 8]);
  });

  it('leaves no tensors but its results', () => {
    const recording = new Recording(compute(tensor([1, 2, 3])));
    const [x, y] = [rows(5, 1), rows(5, 2)];
    noGrad(() => recording.run(x, y).dispose());
    const { tensors } = memory();
    // In a scope that would hold what is left, and often: what other tests left may be collected meanwhile.
    noGrad(() =>
      tidy(() => {
        for (let i = 0; i < 300; i++) recording.run(x, y).dispose();
        expect(memory().tensors).toBeLessThanOrEqual(tensors);
      }),
    );
  });

  it('frees what it computes as soon as nothing reads it any more', () => {
    const big = 2 ** 22;
    const recording = new Recording((x) => {
      let y = x.add(1);
      for (let i = 0; i < 30; i++) y = y.add(1);
      return y;
    });
    recording.run(tensor([1]));
    const x = tensor(new Float32Array(big));
    const most = () => 1024 * process.resourceUsage().maxRSS;
    const before = most();
    expect(tidy(() => recording.run(x).narrow(0, 0, 2).toNumbers())).toEqual([31, 31]);
    // All 31 would be 520 MB.
    expect(most() - before).toBeLessThan(8 * 4 * big);
  });

  it('refuses what it cannot make again', () => {
    const x = tensor([1, 2]);
    const refused = (body: (x: Tensor) => Tensor) => () => new Recording(body).run(x);
    expect(refused((x) => x.mul(x.toNumbers()[0]!))).toThrow("a tensor's numbers cannot be read");
    expect(x.numel).toBe(2);
    expect(refused((x) => x.add(1).mul(x.numel))).toThrow("a tensor's shape cannot be read");
    expect(refused((x) => x.add(x.add(1).size(0)))).toThrow("a tensor's shape cannot be read");
    expect(refused(() => tensor(new Float32Array(1)))).toThrow('not computed while calls were recorded');
    expect(refused((x) => new Recording((y) => y.add(1)).run(x))).toThrow('being recorded already');
    expect(refused((x) => x.add(unsafe.call('aten::item', x.sum()) as number))).toThrow('more than tensors');
    expect(() => new Recording((a, b) => a.add(b)).run(x, x)).toThrow('an input is given twice');
    const recording = new Recording((x) => x.add(1));
    recording.run(x);
    expect(() => recording.run(x, tensor([1]))).toThrow('takes 1 inputs, found 2');
    expect(() => recording.run(keep(tensor([1, 2, 3]))).toNumbers()).not.toThrow();
    recording.dispose();
    expect(() => recording.run(x)).toThrow('the recording is disposed');
  });

  it('refuses other numbers of tensors than there were', () => {
    const recording = new Recording((x) =>
      (unsafe.call('aten::split.Tensor', x, 2, 0) as Tensor[])[0]!.add(1),
    );
    expect(recording.run(tensor([1, 2, 3, 4])).toNumbers()).toEqual([2, 3]);
    expect(() => recording.run(tensor([1, 2]))).toThrow(
      'aten::split gave 1 tensors; when it was recorded, 2',
    );
    expect(() => recording.run(tensor([1, 2, 3, 4, 5, 6]))).toThrow('aten::split gave 3 tensors');
  });

  it('records at the next call what failed', () => {
    let fails = true;
    const recording = new Recording((x) => {
      if (fails) throw new Error('in the middle');
      return x.add(1);
    });
    expect(() => recording.run(tensor([1]))).toThrow('in the middle');
    fails = false;
    for (const number of [1, 2]) expect(recording.run(tensor([number])).toNumbers()).toEqual([number + 1]);
  });

  it('throws what an operator says of other inputs', () => {
    const recording = new Recording((x, y) => x.mm(y));
    recording.run(rows(4, 1), rows(4, 2));
    expect(() => recording.run(rows(4, 1), rows(3, 2))).toThrow(/mat1 and mat2 shapes cannot be multiplied/);
  });
});
