import { expect, it } from 'vitest';
import { mark, memory, type Tensor, tensor, tidy } from './index.js';

/** x → x², n times, each factor marked. */
function chain(x: Tensor, n: number): Tensor {
  let y = x;
  for (let i = 0; i < n; i++) {
    y = y.mul(y);
    mark(y);
  }
  return y;
}

it('a backward pass tells when it comes by a marked tensor', () => {
  tidy(() => {
    const x = tensor([1.5]);
    x.requiresGrad = true;
    let times = 0;
    chain(x, 3).backward(undefined, { onMark: () => times++ });
    expect(times).toBe(3);
    expect(x.grad!.item()).toBeCloseTo(8 * 1.5 ** 7, 3);
    // Without a listener nobody is told, and without a gradient nothing is marked.
    chain(x, 3).backward();
    mark(tensor([1]));
    expect(times).toBe(3);
  });
});

it('what the listener throws ends the pass and comes out as it is', () => {
  const live = memory();
  tidy(() => {
    const x = tensor([1.5]);
    x.requiresGrad = true;
    const wrong = new Error('enough');
    let times = 0;
    const onMark = () => {
      if (++times === 2) throw wrong;
    };
    expect(() => chain(x, 3).backward(undefined, { onMark })).toThrow(wrong);
    expect(times).toBe(2);
    expect(x.grad).toBeNull();
    // The next pass is as if nothing had happened.
    chain(x, 1).backward(undefined, { onMark });
    expect(x.grad!.item()).toBe(3);
    expect(times).toBe(3);
  });
  expect(memory()).toEqual(live);
});
