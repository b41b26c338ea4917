import { empty, Generator, noGrad, type Tensor, tidy } from '@grpo/torch';
import { expect, it } from 'vitest';
import { eachLogits, eachPart, partRows } from './plain-head.js';

const random = (shape: number[]) => empty(shape).normal_(0, 1, { generator: new Generator(1) });

it('hands over a matrix in float32, part by part and in order', () => {
  tidy(() => {
    const weight = random([7, 3]).to('bfloat16');
    const [starts, numbers]: [number[], number[]] = [[], []];
    eachPart(weight, 3, (part, start) => {
      expect(part.dtype).toBe('float32');
      starts.push(start);
      numbers.push(...part.toNumbers());
    });
    expect(starts).toEqual([0, 3, 6]);
    expect(numbers).toEqual(weight.toNumbers());
  });
});

it('has the logits of every row and every part of a large vocabulary', () => {
  noGrad(() =>
    tidy(() => {
      const [normed, weight] = [random([170, 256]), random([100_000, 256])];
      expect(partRows(weight, 170)).toBeLessThan(100_000);
      const seen: number[] = [];
      const head = { weight, divisor: 1, cap: Infinity, rounded: (x: Tensor) => x };
      eachLogits(normed, head, (logits, start) =>
        tidy(() => {
          const rows = logits.size(0);
          seen.push(...Array.from({ length: rows }, (_, row) => start + row));
          const whole = normed.narrow(0, start, rows).matmul(weight.t());
          expect(logits.sub(whole).abs().amax([0, 1]).item()).toBeLessThan(1e-4);
        }),
      );
      expect(seen).toEqual([...Array(170).keys()]);
    }),
  );
});
