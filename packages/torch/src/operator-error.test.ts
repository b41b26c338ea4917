import { describe, expect, it } from 'vitest';
import * as torch from './index.js';

const { OperatorError, unsafe } = torch;

/** A call that TypeScript would refuse. */
const untyped = (call: unknown) => call as (...args: unknown[]) => unknown;

function errorOf(body: () => unknown): Error {
  try {
    body();
  } catch (error) {
    return error as Error;
  }
  throw new Error('nothing was thrown');
}

describe('a wrong call throws one line that names operator, arguments and schema', () => {
  const x = torch.ones([2, 3]);
  const gone = torch.ones([4]);
  gone.dispose();
  const cases: [what: string, call: () => unknown, text: RegExp][] = [
    [
      'type',
      () => untyped(torch.add)(x, 'a'),
      /argument 'other' must be a tensor or a number, found a string/,
    ],
    ['type in a list', () => untyped(torch.zeros)([1, 'a']), /'size' must be an integer, found a string/],
    ['NaN as an integer', () => x.narrow(0, Number.NaN, 1), /'start' must be an integer, found nan/],
    ['boolean', () => untyped(torch.amax)(x, [0], 1), /'keepdim' must be a boolean, found a number/],
    ['shape', () => x.matmul(torch.ones([4, 5])), /2x3.*4x5/],
    ['dtype', () => x.matmul(torch.ones([3, 1], { dtype: 'float64' })), /dtype|scalar type/],
    [
      'unknown dtype',
      () => untyped(torch.ones)([1], { dtype: 'float' }),
      /unknown dtype 'float'; known: uint8/,
    ],
    ['dtype by number', () => untyped(torch.ones)([1], { dtype: 6 }), /unknown dtype 6/],
    ['unknown device', () => torch.ones([1], { device: 'gpu' }), /unknown device 'gpu'; known: cpu, cuda/],
    ['disposed tensor', () => x.add(gone), /'other' must be a tensor or a number, found a disposed tensor/],
    ['disposed in a list', () => torch.cat([x, gone]), /called with \(\[float32\[2,3\], disposed tensor\]\)/],
    [
      'generator',
      () => untyped(torch.normal_)(x, 0, 1, { generator: x }),
      /must be a Generator, found a tensor/,
    ],
    ['unknown keyword', () => untyped(torch.add)(x, x, { alfa: 2 }), /unknown keyword 'alfa'/],
    ['keyword twice', () => untyped(torch.add)(x, x, { other: x }), /'other' is given by position already/],
    ['too many', () => untyped(torch.neg)(x, 1), /at most 1 arguments are taken/],
    ['far too many', () => untyped(torch.neg)(x, ...Array(40).fill(1)), /too many arguments/],
    ['missing', () => untyped(torch.softmax)(x), /argument 'dim' is missing/],
    ['overflow', () => torch.empty([2 ** 40, 2 ** 40]), /overflow/],
    ['negative size', () => torch.empty([-1]), /negative dimension/],
  ];

  it.each(cases)('%s', (_, call, text) => {
    const error = errorOf(call);
    expect(error).toBeInstanceOf(OperatorError);
    expect(error.message).toMatch(text);
    expect(error.message).not.toContain('\n');
    expect(error.message).toMatch(/^aten::\w+(\.\w+)?: .*; called with \(.*\); schema aten::\w+.*\) -> /);
    expect(error.cause).toBeInstanceOf(Error);
  });

  it.skipIf(torch.cudaDeviceCount() > 0)('a device that is not there (skipped where it is)', () => {
    const error = errorOf(() => x.toDevice('cuda:0'));
    expect(error.message).toMatch(
      /^aten::to\.device: .*CUDA.*called with \(float32\[2,3\], 'cuda:0', 'float32'\)/i,
    );
  });

  it("keeps libtorch's whole text as the cause", () => {
    const error = errorOf(() => x.matmul(torch.ones([4, 5])));
    expect((error.cause as Error).message).toContain('cannot be multiplied (2x3 and 4x5)');
  });

  it('cuts arguments short and survives circular ones', () => {
    const circle: Record<string, unknown> = {};
    circle.dtype = circle;
    expect(errorOf(() => untyped(torch.ones)([1], circle)).message).toMatch(/{…}/);
    expect(errorOf(() => torch.ones(Array(100).fill(-1))).message).toMatch(/\(\[(-1, ){8}…\]\)/);
  });

  it('an operator that does not exist', () => {
    expect(() => unsafe.call('aten::nothing', x)).toThrow(
      /has no operator aten::nothing; overloads are part/,
    );
    expect(() => unsafe.call('aten::add', x, x)).toThrow(OperatorError);
  });

  it('a gradient of another shape in fused AdamW, which libtorch would read beyond its end', () => {
    const like = (size: number) => [torch.zeros([size])];
    const options = { lr: 1, beta1: 0, beta2: 0, weight_decay: 0, eps: 1, amsgrad: false, maximize: false };
    const step = () => torch.fusedAdamW_(like(9), like(3), like(9), like(9), [], [torch.ones([])], options);
    expect(step).toThrow(/grads\[0\] is float32\[3\], its parameter float32\[9\]/);
  });
});
