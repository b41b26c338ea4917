import { cat, grad, noGrad, type Tensor, tidy, zeros } from '@grpo/torch';
import { type Decoder, packSegments } from '../../models/index.js';
import type { Comparison } from '../../trace/index.js';
import { type LayerPass, layerGradients } from '../plain/plain-gradient.js';
import { layerOutput, layerTensors } from '../plain/plain-layer.js';
import type { PlainModel } from '../plain/plain-model.js';
import { gradientPieces, holdPart, normOf, type PartOptions, type Piece } from './hold-part.js';
import { type PassPacking, rowsOf, sumsOf } from './pass-packing.js';

/** The two models that are compared, and how. */
export interface LayerOptions extends PartOptions {
  /** The plain path's. */
  model: PlainModel;
  /** The decoder that trains. */
  decoder: Decoder;
  packing: PassPacking;
}

/** Holds a layer by itself to the plain one: both take the inputs and the slopes that the plain path has there. */
export const holdLayer = (pass: LayerPass, options: LayerOptions): Comparison[] =>
  holdPart(
    'layer',
    `layer ${pass.layer + 1}`,
    {
      plain: () => plainPieces(options.packing, pass),
      trained: () => trainedPieces(pass, options),
      rounded: (at) => roundedPieces(at, pass, options),
    },
    options,
  );

/** Output, slopes in the input, and gradients of a layer: of the first two what the layer adds to what is there. */
function plainPieces(packing: PassPacking, pass: LayerPass): Piece[] {
  return noGrad(() => {
    const [x, y] = [pass.inputs, pass.outputs].map((of) => rowsOf(packing, of)) as [Tensor, Tensor];
    const [above, below] = [pass.slopes, pass.before].map((of) => sumsOf(packing, of)) as [Tensor, Tensor];
    return [
      { of: 'output', value: y.sub(x), whole: normOf(y) },
      { of: 'gradient', value: below.sub(above), whole: normOf(below) },
      ...gradientPieces(pass.gradients),
    ];
  });
}

/** The same by the layer that trains. */
function trainedPieces(
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

/** The same by the plain layer when it rounds. */
function roundedPieces(roundsAt: number, pass: LayerPass, { model, packing }: LayerOptions): Tensor[] {
  const { layer } = pass;
  const rounding = { ...model, roundsAt };
  const tensors = layerTensors(rounding, layer);
  const [inputs, slopes] = [pass.inputs, pass.slopes].map((of) => of.map((x) => tensors.rounded(x))) as [
    Tensor[],
    Tensor[],
  ];
  const outputs = noGrad(() => inputs.map((x) => tidy(() => layerOutput(tensors, layer, x))));
  const back = layerGradients(rounding, layer, inputs, slopes);
  return plainPieces(packing, { layer, inputs, outputs, slopes, ...back }).map(({ value }) => value);
}
