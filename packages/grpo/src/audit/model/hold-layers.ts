import { cat, grad, noGrad, type Tensor, tidy, zeros } from '@grpo/torch';
import { type Decoder, packSegments } from '../../models/index.js';
import type { Comparison, HandOver } from '../../trace/index.js';
import { type LayerPass, layerGradients } from '../plain/plain-gradient.js';
import { layerOutput, layerTensors } from '../plain/plain-layer.js';
import type { PlainModel } from '../plain/plain-model.js';
import { type Pair, worstOf } from '../worst.js';
import { type PassPacking, rowsOf, sumsOf } from './pass-packing.js';
import { ROUNDED_AT, widened } from './rounding.js';
import type { Tolerance } from './tolerance.js';

/** The two models that are compared, and how. */
export interface LayerOptions {
  /** The plain path's. */
  model: PlainModel;
  /** The decoder that trains. */
  decoder: Decoder;
  packing: PassPacking;
  /** The hand-over that outputs belong to. */
  forward: HandOver;
  tolerance: Tolerance;
  /** To be called between the parts. */
  tell(): void;
}

/**
 * Holds a layer by itself to the plain one: both take the inputs and the slopes that the plain path has there. What one
 * layer rounds is little, however far all of them together move what the model gives.
 *
 * @returns nothing in full precision, where the model as a whole tells as much
 */
export function holdLayer(pass: LayerPass, options: LayerOptions): Comparison[] {
  const { layer: allowed, roundings } = options.tolerance;
  if (!allowed) return [];
  return tidy(() => {
    const plain = plainParts(options.packing, pass);
    const found = compareParts(trainerParts(pass, options), plain);
    let known: Apart[][] | undefined;
    const rounded = () => (known ??= ROUNDED_AT.map((at) => compareRounded(at, pass, options, plain)));
    return widened(1, (besides) =>
      plain.flatMap(({ name: tensor = `layer ${pass.layer + 1}`, of, norm, whole = 0 }, i) => {
        const { distance, share } = found[i]!;
        const handOver = of === 'output' ? options.forward : 'gradient';
        const held = (what: string, pair: Pair, moved: (one: Apart) => number) => {
          const most = () => Math.max(...rounded().map((parts) => moved(parts[i]!)));
          const bound = pair.bound + besides(most);
          return worstOf(handOver, `layer's ${what} the plain ${of}`, [{ ...pair, bound, tensor }]);
        };
        const far = allowed.distance + relative(ROUNDING * whole, norm);
        const along = (one: Apart) => Math.abs(one.share - 1);
        return [
          ...held(
            'distance to',
            { found: distance, plain: 0, bound: far },
            (one) => roundings * one.distance + (ALONG - roundings) * along(one),
          ),
          ...held('share of', { found: share, plain: 1, bound: allowed.share }, (one) => ALONG * along(one)),
        ];
      }),
    );
  });
}

/**
 * Times as far as rounding moves a share. It is one number, so that all five ways to round may move it little by chance: an
 * error of the same normal distribution exceeds eight times the farthest of them once in 17,000 times. A distance is the
 * sum of many numbers, unless all of it lies along the plain one.
 */
const ALONG = 8;

/** Half precision rounds a number by at most this share of it, and a sum twice. */
const ROUNDING = 2 ** -8;

/** A part of what a layer gives, as the plain path has it. */
interface PlainPart {
  /** Name of the tensor whose gradient this is; undefined for output and slopes. */
  name?: string;
  of: 'output' | 'gradient';
  value: Tensor;
  norm: number;
  /** Norm of the number that is rounded, where this is what the layer adds to it. */
  whole?: number;
}

/** Output, slopes in the input, and gradients of a layer: of the first two what the layer adds to what is there. */
function plainParts(packing: PassPacking, pass: LayerPass): PlainPart[] {
  return noGrad(() => {
    const [x, y] = [pass.inputs, pass.outputs].map((of) => rowsOf(packing, of)) as [Tensor, Tensor];
    const [above, below] = [pass.slopes, pass.before].map((of) => sumsOf(packing, of)) as [Tensor, Tensor];
    const part = (of: PlainPart['of'], value: Tensor) => ({ of, value, norm: normOf(value) });
    return [
      { ...part('output', y.sub(x)), whole: normOf(y) },
      { ...part('gradient', below.sub(above)), whole: normOf(below) },
      ...[...pass.gradients].map(([name, value]) => ({ name, ...part('gradient', value) })),
    ];
  });
}

/** The same parts by the layer that trains. */
function trainerParts(
  { layer, inputs, slopes, gradients }: LayerPass,
  { decoder, packing }: LayerOptions,
): Tensor[] {
  const { config, device, dtype, trainable } = decoder;
  // Rows as training has them: each number of rows may be compiled, and kept.
  const tokens = packSegments(packing.segments, config, device, dtype);
  const padded = (rows: Tensor) => {
    const [count, width] = rows.shape as [number, number];
    const rest = tokens.ids_N.numel - count;
    return (rest > 0 ? cat([rows, zeros([rest, width], { device })]) : rows).to(dtype);
  };
  const [x, above] = noGrad(() => [rowsOf(packing, inputs), sumsOf(packing, slopes)].map(padded)) as [
    Tensor,
    Tensor,
  ];
  x.requiresGrad = true;
  const y = decoder.layer(layer, x, decoder.rotationsAt(tokens), tokens.attend);
  const trained = [...gradients.keys()].map((name) => trainable.get(name)!);
  const [below, ...own] = grad([y], [x, ...trained], [above]);
  return noGrad(() => {
    const count = packing.pieces.reduce((sum, { length }) => sum + length, 0);
    const added = (total: Tensor, to: Tensor) =>
      total.to('float32').sub(to.to('float32')).narrow(0, 0, count);
    return [added(y, x), added(below!, above), ...own.map((one) => one!.to('float32'))];
  });
}

/** Compares the same parts by the plain layer when it rounds. */
function compareRounded(
  roundsAt: number,
  pass: LayerPass,
  { model, packing, tell }: LayerOptions,
  plain: readonly PlainPart[],
): Apart[] {
  tell();
  const { layer } = pass;
  const rounding = { ...model, roundsAt };
  return tidy(() => {
    const tensors = layerTensors(rounding, layer);
    const [inputs, slopes] = [pass.inputs, pass.slopes].map((of) => of.map((x) => tensors.rounded(x))) as [
      Tensor[],
      Tensor[],
    ];
    const outputs = noGrad(() => inputs.map((x) => tidy(() => layerOutput(tensors, layer, x))));
    const back = layerGradients(rounding, layer, inputs, slopes);
    const gradients = new Map([...pass.gradients.keys()].map((name) => [name, back.gradients.get(name)!]));
    const parts = plainParts(packing, { layer, inputs, outputs, slopes, before: back.before, gradients });
    return compareParts(
      parts.map(({ value }) => value),
      plain,
    );
  });
}

/** How a part lies to the plain one, by the norm of this: their distance, and the length along it. */
interface Apart {
  distance: number;
  share: number;
}

const compareParts = (values: readonly Tensor[], plain: readonly PlainPart[]): Apart[] =>
  plain.map(({ value, norm }, i) =>
    noGrad(() =>
      tidy(() => {
        const off = values[i]!.sub(value);
        const along = off.mul(value).sum().item();
        return { distance: relative(normOf(off), norm), share: 1 + relative(along, norm ** 2) };
      }),
    ),
  );

/** Nothing of nothing is nothing. */
const relative = (x: number, norm: number): number => (x === 0 ? 0 : x / norm);

const normOf = (x: Tensor): number => noGrad(() => tidy(() => Math.sqrt(x.mul(x).sum().item())));
