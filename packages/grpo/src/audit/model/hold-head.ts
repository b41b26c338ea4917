import { cat, grad, noGrad, type Tensor, tensor } from '@grpo/torch';
import { TokenSets } from '../../formats/token-sets.js';
import type { Decoder } from '../../models/index.js';
import { scoreHidden } from '../../objective/index.js';
import type { Comparison } from '../../trace/index.js';
import { HeadSlopes, type SlopedPass } from '../plain/head-slopes.js';
import { finalNorm } from '../plain/plain-decoder.js';
import { type HeadPass, headGradients } from '../plain/plain-gradient.js';
import { passScores, predicting } from '../plain/plain-logprobs.js';
import type { PlainModel } from '../plain/plain-model.js';
import { gradientPieces, holdPart, type PartOptions, type Piece } from './hold-part.js';

/** The two models that are compared, and how. */
export interface HeadOptions extends PartOptions {
  /** The plain path's. */
  model: PlainModel;
  /** The decoder that trains. */
  decoder: Decoder;
  /** Divides the logits; 0 (greedy) scores at 1. */
  temperature: number;
}

/**
 * Holds what comes behind the layers by itself to the plain path: the last norm, the vocabulary projection and the
 * log-probs, from the outputs of the last layer and the slopes of the loss that the plain path has.
 */
export const holdHead = (pass: HeadPass, options: HeadOptions): Comparison[] =>
  holdPart(
    'head',
    'the head',
    {
      plain: () => plainPieces(pass),
      trained: () => trainedPieces(pass, options),
      rounded: (at) => roundedPieces(at, pass, options),
    },
    options,
  );

/** Slopes in the outputs of the last layer, and gradients of the norm. */
const plainPieces = ({ passes, before, gradients }: HeadPass): Piece[] =>
  noGrad(() => [
    { of: 'gradient', value: cat(passes.map((one, i) => predicting(before[i]!, one))) },
    ...gradientPieces(gradients),
  ]);

/** The same by the decoder that trains. */
function trainedPieces({ passes, gradients }: HeadPass, { decoder, temperature }: HeadOptions): Tensor[] {
  const x = noGrad(() => cat(passes.map((one) => predicting(one.states.at(-1)!, one))).to(decoder.dtype));
  x.requiresGrad = true;
  const targets = passes.flatMap((one) => one.targets);
  const slopesOf = (of: keyof SlopedPass['slopes']) => passes.flatMap(({ slopes }) => [...slopes[of]]);
  const byEntropy = slopesOf('entropies');
  const entropyGradient = byEntropy.some((slope) => slope !== 0);
  const { logprobs_T, entropies_T } = scoreHidden({
    decoder,
    hidden_ND: decoder.norm(x, decoder.finalNorm),
    rows: [...targets.keys()],
    targets,
    temperature: temperature === 0 ? 1 : temperature,
    entropyGradient,
    reference: undefined,
    support: passes.flatMap(({ support, targets: own }) =>
      own.map((_, t) => ({ tokens: 1, sets: support?.[t] && TokenSets.of([support[t]]) })),
    ),
  });
  const column = (values: number[]) =>
    tensor(Float32Array.from(values), undefined, { device: decoder.device });
  const trained = [...gradients.keys()].map((name) => decoder.trainable.get(name)!);
  const found = grad(
    entropyGradient ? [logprobs_T, entropies_T] : [logprobs_T],
    [x, ...trained],
    [slopesOf('logprobs'), ...(entropyGradient ? [byEntropy] : [])].map(column),
  );
  return noGrad(() => found.map((one) => one!.to('float32')));
}

/** The same by the plain path when it rounds. */
function roundedPieces(
  roundsAt: number,
  { passes }: HeadPass,
  { model, temperature }: HeadOptions,
): Tensor[] {
  const rounding = { ...model, roundsAt };
  const { tensors } = finalNorm(rounding);
  const own = passes.map((one) => {
    const last = tensors.rounded(one.states.at(-1)!);
    return { ...one, states: [last], scores: passScores(rounding, one, last, temperature) };
  });
  const back = headGradients(rounding, own, new HeadSlopes(rounding, own, temperature));
  return plainPieces({ passes: own, ...back }).map(({ value }) => value);
}
