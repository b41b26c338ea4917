import { type DType, empty, grad, type Tensor, tidy } from '@grpo/torch';
import { describe, expect, it } from 'vitest';
import { type DecoderConfig, equalLayers } from './config.js';
import { packSegments } from './pack-segments.js';
import type { Segment } from './segment.js';

const shapeOf = (heads: number, kvHeads: number, headDim: number, change: Partial<DecoderConfig> = {}) =>
  ({ heads, kvHeads, headDim, ...equalLayers({ layers: 1, headDim }), ...change }) as DecoderConfig;

const ids = (length: number) => Array<number>(length).fill(1);

/** Prompts with and without completions, longer and shorter than segments that share a mask. */
const segments: Segment[] = [
  { ids: ids(37) },
  ...[5, 70, 1, 140, 60, 60].map((length) => ({ ids: ids(length), parent: 0 })),
  { ids: ids(9) },
  { ids: ids(200) },
  { ids: [] },
  { ids: ids(12), parent: 9 },
  { ids: ids(3), parent: 9 },
];

/** Long prompts by themselves, between families and beside them. */
const long: Segment[] = [
  { ids: ids(20) },
  { ids: ids(4100) },
  { ids: ids(6) },
  { ids: ids(7), parent: 2 },
  { ids: ids(1030) },
  // Long, and continued: a family like others.
  { ids: ids(1100) },
  { ids: ids(5), parent: 5 },
];

describe('attention of packed segments', () => {
  it.each([
    ['float32', 'segments', segments, shapeOf(6, 2, 24), 1e-5],
    ['bfloat16', 'segments', segments, shapeOf(6, 2, 24), 2e-2],
    ['float32', 'long segments', long, shapeOf(2, 1, 16), 1e-5],
    ['bfloat16', 'long segments', long, shapeOf(2, 1, 16), 2e-2],
    ['float32', 'segments with a window', segments, shapeOf(6, 2, 24, { attention: [{ window: 50 }] }), 1e-5],
    ['float32', 'segments with a short window', segments, shapeOf(6, 2, 24, { attention: [{ window: 3 }] }), 1e-5],
    ['float32', 'segments with soft caps', segments, shapeOf(6, 2, 24, { attentionSoftcap: 2 }), 1e-5],
    ['bfloat16', 'segments with all', segments, shapeOf(6, 2, 24, { attentionSoftcap: 2, attentionScale: 0.4, attention: [{ window: 50 }] }), 2e-2],
    ['float32', 'long segments with a window', long, shapeOf(2, 1, 16, { attention: [{ window: 300 }] }), 1e-5],
    ['float32', 'long segments with another scale', long, shapeOf(2, 1, 16, { attentionScale: 0.5 }), 1e-5],
  ] as const)(
    'in %s, of %s, is that of masks in float64, and so are its gradients',
    (dtype, _, segments, config, tolerance) => {
      const { heads, kvHeads, headDim } = config;
      const tokens = segments.reduce((sum, segment) => sum + segment.ids.length, 0);
      tidy(() => {
        const inputs = [heads, kvHeads, kvHeads].map((count) => leaf([tokens, count, headDim], dtype));
        const { attend } = packSegments(segments, config, 'cpu');
        const call = (leaves: Tensor[]) => attend(0, leaves[0]!, leaves[1]!, leaves[2]!);
        const wide = inputs.map((input) => {
          const copy = input.detach().to('float64');
          copy.requiresGrad = true;
          return copy;
        });
        const weight = leaf([tokens, heads, headDim], dtype).detach();
        const run = (leaves: Tensor[]) => {
          const out = call(leaves);
          return [out, ...grad([out], leaves, [weight.to(out.dtype)])];
        };
        const theirs = run(wide);
        for (const [i, ours] of run(inputs).entries()) {
          expect([ours!.dtype, ours!.shape]).toEqual([dtype, theirs[i]!.shape]);
          const difference = ours!.to('float64').sub(theirs[i]!).abs().amax([]).item();
          expect(difference / theirs[i]!.abs().amax([]).item()).toBeLessThan(tolerance);
        }
      });
    },
  ); // biome-ignore format: a table

  it.each([
    ['float32', 1e-5],
    ['bfloat16', 2e-2],
  ] as const)(
    'in %s, of passes forward alone, is that of masks in float64, segment by segment',
    (dtype, tolerance) => {
      const prompts = [340, 25, 2570].map((length) => ({ ids: ids(length) }));
      const config = shapeOf(4, 2, 16);
      tidy(() => {
        const inputs = [4, 2, 2].map((count) => leaf([2935, count, 16], dtype).detach()) as Qkv;
        const out = packSegments(prompts, config, 'cpu', undefined, 'forward').attend(0, ...inputs);
        const wide = inputs.map((input) => input.to('float64')) as Qkv;
        const theirs = packSegments(prompts, config, 'cpu').attend(0, ...wide);
        const difference = out.to('float64').sub(theirs).abs().amax([]).item();
        expect([out.dtype, difference / theirs.abs().amax([]).item() < tolerance]).toEqual([dtype, true]);
        // The bits of a segment do not depend on its neighbours.
        const last = inputs.map((input) => input.narrow(0, 365, 2570)) as Qkv;
        const alone = packSegments(prompts.slice(2), config, 'cpu', undefined, 'forward').attend(0, ...last);
        expect(sameBits(out.narrow(0, 365, 2570).contiguous(), alone.contiguous())).toBe(true);
      });
    },
  );

  it('with a window has the bits of plain attention, where nothing is beyond it', () => {
    tidy(() => {
      const inputs = inputsOf('float32');
      const out = (window?: number) => attendOf([{ window }])(0, ...inputs);
      const plain = out();
      for (const window of [200, 201, 4096]) expect(sameBits(out(window), plain)).toBe(true);
      expect(sameBits(out(199), plain)).toBe(false);
    });
  });

  it('gives each layer its own window', () => {
    tidy(() => {
      const attend = attendOf([{ window: 10 }, {}]);
      for (const dtype of ['float32', 'float64'] as const) {
        const inputs = inputsOf(dtype);
        const narrow = attendOf([{ window: 10 }])(0, ...inputs);
        expect(sameBits(attend(0, ...inputs), narrow)).toBe(true);
        expect(sameBits(attend(1, ...inputs), attendOf([{}])(0, ...inputs))).toBe(true);
        expect(sameBits(attend(1, ...inputs), narrow)).toBe(false);
      }
    });
  });
});

const attendOf = (attention: DecoderConfig['attention']) =>
  packSegments(segments, shapeOf(6, 2, 24, { attention }), 'cpu').attend;

type Qkv = [Tensor, Tensor, Tensor];

const inputsOf = (dtype: DType) => [6, 2, 2].map((count) => leaf([597, count, 24], dtype)) as Qkv;

const sameBits = (a: Tensor, b: Tensor) => Buffer.compare(a.detach().toBytes(), b.detach().toBytes()) === 0;

function leaf(shape: number[], dtype: DType): Tensor {
  const made = empty(shape).uniform_(-1, 1).to(dtype);
  made.requiresGrad = true;
  return made;
}
