/** Random decoders: any traits together that any family has. */
import { type DType, Generator, noGrad, type Tensor, tidy, zeros } from '@grpo/torch';
import type { Dice } from '../formats/mutate.test.helper.js';
import type { DecoderConfig, RopeConfig } from './config.js';
import { OwningDecoder } from './decoder.js';
import { parameterSpecs } from './parameters.js';

const range = (end: number) => Array.from({ length: end }, (_, i) => i);

/** Windows are shorter than the sequences of the tests. */
export function randomShape(dice: Dice, vocabSize = 24): DecoderConfig {
  const [kvHeads, headDim, layers] = [dice.of([1, 2]), dice.of([4, 6, 8, 16]), dice.of([2, 3])];
  const ropes = range(dice.below(3)).map((): RopeConfig => {
    const dims = dice.of([headDim, headDim, 2, 4]);
    const factors = range(dims / 2).map((pair) => 1 + pair * dice.of([0.5, 2]));
    const scaling = dice.of([
      undefined,
      { type: 'linear' as const, factor: 3 },
      { type: 'longrope' as const, factors, attentionFactor: 1.2 },
    ]);
    return { theta: dice.of([20, 10000]), dims, ...(scaling && { scaling }) };
  });
  const attention = range(layers).map(() => {
    const rope = dice.below(ropes.length + 1);
    const window = dice.of([undefined, 1, 3, 6, 9]);
    return { ...(rope < ropes.length && { rope }), ...(window && { window }) };
  });
  const isFused = dice.below(3) === 0;
  return {
    // Where projections are fused there are names of norms before the blocks only.
    family: isFused ? 'phi3' : 'gemma3',
    gated: !isFused || dice.of([true, false]),
    normPlacement: isFused ? 'before' : dice.of(['before', 'after', 'both']),
    norm: 'rms',
    normOffset: dice.of([0, 1]),
    normEps: 1e-5,
    qkNorm: dice.of(['none', 'head', 'whole']),
    vocabSize,
    hiddenSize: dice.of([12, 16]),
    intermediateSize: dice.of([20, 24]),
    layers,
    heads: kvHeads * dice.of([1, 2, 3]),
    kvHeads,
    headDim,
    maxPositions: 128,
    activation: dice.of(['silu', 'gelu', 'gelu_tanh']),
    ropes,
    attention,
    attentionScale: dice.of([0.3, 1]) * dice.of([1, headDim ** -0.5]),
    ...dice.of([{}, { attentionSoftcap: 2 }]),
    ...dice.of([{}, { logitSoftcap: 3 }]),
    embeddingScale: dice.of([1, 4]),
    residualScale: dice.of([1, 0.4]),
    logitDivisor: dice.of([1, 2.5]),
    qkvBias: dice.of([true, false]),
    outputBias: dice.of([true, false]),
    mlpBias: dice.of([true, false]),
    tied: dice.of([true, false]),
  };
}

/** A decoder of this shape whose weights, norms and biases too, are all random. */
export function randomDecoder(config: DecoderConfig, seed: number, dtype: DType = 'float32', device = 'cpu') {
  const generator = new Generator(seed);
  const parameters = new Map<string, Tensor>();
  for (const [name, { shape, role }] of parameterSpecs(config)) {
    const mean = role === 'norm' ? 1 - config.normOffset : 0;
    const drawn = noGrad(() =>
      tidy(() => zeros(shape).normal_(mean, 0.3, { generator }).to(dtype).toDevice(device)),
    );
    parameters.set(name, drawn);
  }
  return new OwningDecoder(config, parameters);
}

/** A configuration in a line, for the message of a test that fails. */
export const described = (config: DecoderConfig): string => JSON.stringify(config);
