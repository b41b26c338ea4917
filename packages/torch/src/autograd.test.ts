import { describe, expect, it } from 'vitest';
import { ones, tensor } from './device.test.helper.js';
import * as torch from './index.js';

const { grad, inferenceMode, noGrad, Tensor } = torch;

/** Deterministic numbers in [-1, 1], as float64. */
function numbers(shape: number[], seed: number): torch.Tensor {
  const count = shape.reduce((a, b) => a * b, 1);
  const values = Float64Array.from({ length: count }, (_, i) => Math.sin(1.7 * i + 12.9898 * seed));
  return tensor(values, shape);
}

/** Compares gradients with central differences of f, which returns a scalar. */
function checkGradients(f: (...inputs: torch.Tensor[]) => torch.Tensor, ...inputs: torch.Tensor[]): void {
  for (const input of inputs) input.requiresGrad = true;
  const gradients = grad([f(...inputs)], inputs);
  const h = 1e-6;
  for (const [k, input] of inputs.entries()) {
    const values = input.toNumbers();
    const slopes = values.map((value, i) => {
      const at = (shifted: number) =>
        noGrad(() => {
          const moved = tensor(Float64Array.from(values).fill(shifted, i, i + 1), input.shape);
          return f(...inputs.map((other, j) => (j === k ? moved : other))).item();
        });
      return (at(value + h) - at(value - h)) / (2 * h);
    });
    gradients[k]!.toNumbers().forEach((g, i) => {
      expect(Math.abs(g - slopes[i]!)).toBeLessThan(1e-7 * Math.max(1, Math.abs(slopes[i]!)));
    });
  }
}

describe('gradients agree with finite differences', () => {
  const weigh = (t: torch.Tensor) => t.mul(numbers([...t.shape], 99)).sum();

  it('matmul and softmax', () => {
    checkGradients((a, b) => weigh(a.matmul(b).softmax(-1)), numbers([2, 3], 1), numbers([3, 4], 2));
  });

  it('layer norm and RMS norm', () => {
    checkGradients(
      (x, w, b) => weigh(torch.rmsNorm(torch.layerNorm(x, w, b, 1e-5), w, 1e-5)),
      numbers([3, 4], 1),
      numbers([4], 2),
      numbers([4], 3),
    );
  });

  it.each([true, false])('attention, causal: %s', (causal) => {
    const mask = causal ? null : numbers([3, 3], 7);
    checkGradients(
      (q, k, v) => weigh(torch.scaledDotProductAttention(q, k, v, mask, 0, causal)),
      numbers([1, 2, 3, 4], 1),
      numbers([1, 2, 3, 4], 2),
      numbers([1, 2, 3, 4], 3),
    );
  });

  it('embedding, through a small network', () => {
    const ids = tensor(new BigInt64Array([2n, 0n, 2n]));
    checkGradients(
      (table, w) => weigh(torch.embedding(table, ids).matmul(w).gelu().logSoftmax(-1)),
      numbers([3, 2], 1),
      numbers([2, 3], 2),
    );
  });
});

describe('backward', () => {
  const leaf = () => {
    const x = tensor([1, 2, 3]);
    x.requiresGrad = true;
    return x;
  };

  it('accumulates into leaves; each read is a handle of its own', () => {
    const x = leaf();
    expect(x.grad).toBeNull();
    x.mul(x).sum().backward();
    x.mul(x).sum().backward();
    expect(x.grad!.toNumbers()).toEqual([4, 8, 12]);
    x.grad!.dispose();
    expect(x.grad!.toNumbers()).toEqual([4, 8, 12]);
    x.grad = null;
    expect(x.grad).toBeNull();
  });

  it('weighs a tensor that is no scalar', () => {
    const x = leaf();
    expect(() => x.mul(2).backward()).toThrow('only for scalar outputs');
    x.mul(2).backward(tensor([1, 0, 10]));
    expect(x.grad!.toNumbers()).toEqual([2, 0, 20]);
  });

  it('frees the graph unless it is retained', () => {
    const x = leaf();
    const y = x.mul(x).sum();
    y.backward(undefined, { retainGraph: true });
    y.backward();
    expect(x.grad!.toNumbers()).toEqual([4, 8, 12]);
    expect(() => y.backward()).toThrow(/a second time/);
  });

  it('names what it was wrongly called with', () => {
    const y = leaf().sum();
    const gone = ones([]);
    gone.dispose();
    expect(() => y.backward(gone)).toThrow('the gradient is a disposed tensor');
    expect(() => y.backward({} as torch.Tensor)).toThrow('the gradient must be a tensor, found {  }');
    expect(() => ones([]).backward()).toThrow(/does not require grad/);
  });
});

describe('grad', () => {
  it('gives null for an input that is not used, and touches no .grad', () => {
    const [x, unused] = [tensor([3]), tensor([4])];
    x.requiresGrad = true;
    unused.requiresGrad = true;
    const [first, second] = grad([x.mul(x).sum()], [x, unused]);
    expect(first!.toNumbers()).toEqual([6]);
    expect(second).toBeNull();
    expect(x.grad).toBeNull();
  });

  it('weighs outputs and differentiates twice', () => {
    const x = tensor([2]);
    x.requiresGrad = true;
    const [first] = grad([x.pow(3)], [x], [tensor([10])], { createGraph: true });
    expect(first!.toNumbers()).toEqual([120]);
    const [second] = grad([first!.sum()], [x]);
    expect(second!.toNumbers()).toEqual([120]);
  });

  it('names what it was wrongly called with', () => {
    const x = tensor([2]);
    x.requiresGrad = true;
    const y = x.sum();
    const gone = tensor([1]);
    gone.dispose();
    expect(() => grad([], [])).toThrow('grad() needs outputs and inputs');
    expect(() => grad([y], [x], [])).toThrow('grad() got 1 outputs and 0 gradients');
    expect(() => grad([y], [x, gone])).toThrow('inputs[1] is a disposed tensor');
    expect(() => grad([y], [null as unknown as torch.Tensor])).toThrow(
      'inputs[0] must be a tensor, found null',
    );
  });
});

describe('modes', () => {
  const x = tensor([1, 2]);
  x.requiresGrad = true;

  it('noGrad records nothing and ends, also when the body throws', () => {
    expect(noGrad(() => x.mul(2)).requiresGrad).toBe(false);
    expect(() =>
      noGrad(() => {
        throw new Error('inside');
      }),
    ).toThrow('inside');
    expect(noGrad(() => noGrad(() => x.mul(2)).add(x)).requiresGrad).toBe(false);
    expect(x.mul(2).requiresGrad).toBe(true);
  });

  it('what inferenceMode makes stays out of graphs', () => {
    const inside = inferenceMode(() => x.mul(2));
    expect(inside.toNumbers()).toEqual([2, 4]);
    expect(() => x.mul(inside)).toThrow(/[Ii]nference/);
    expect(x.mul(2).requiresGrad).toBe(true);
  });

  it.each([
    ['noGrad', noGrad],
    ['inferenceMode', inferenceMode],
  ] as const)('%s refuses an async function', async (name, mode) => {
    expect(() => mode(async () => Promise.reject(new Error('later')))).toThrow(
      `${name}() was given an async function: the mode ends at its first await`,
    );
    await new Promise((done) => setTimeout(done, 5)); // the rejection must not be reported as unhandled
    expect(x.mul(2).requiresGrad).toBe(true);
  });
});

describe('.grad and requiresGrad', () => {
  it('take only what fits', () => {
    const x = ones([2]);
    x.grad = tensor([5, 6]);
    expect(x.grad).toBeInstanceOf(Tensor);
    expect(x.grad!.toNumbers()).toEqual([5, 6]);
    expect(() => {
      x.grad = ones([1]);
    }).toThrow(/the gradient is float32\[1\].*, its tensor float32\[2\]/);
    expect(() => {
      x.grad = ones([2], { dtype: 'float64' });
    }).toThrow(/the gradient is float64\[2\].*, its tensor float32\[2\]/);
    expect(() => {
      ones([2], { dtype: 'int64' }).requiresGrad = true;
    }).toThrow(/floating point/);
  });
});
