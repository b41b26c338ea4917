/** Bytes of what a run holds from its first step to its last, from the shapes of the model's parameters. */
import type { DecoderConfig } from '../models/config.js';
import { parameterSpecs } from '../models/parameters.js';

/** Which numbers are trained: all weights, so many numbers of adapters, or none. */
export type TrainedPart = 'weights' | { adapters: number } | undefined;

/** A policy that stays as it is, or follows slowly. */
export interface Reference {
  /** Numbers of its own in the dtype of the weights: 0 where it shares the policy's. */
  weights: number;
  /** Numbers of adapters of its own. */
  adapters: number;
  /** Whether it moves, and so has float32 masters of half-precision weights. */
  moves: boolean;
}

/** What is held, in bytes. */
export interface Holdings {
  weights: number;
  adapters: number;
  /** float32 copies of half-precision weights, and the two moments. */
  optimizer: number;
  reference: number;
  /** Gradients of an update, from its first backward pass to its end. */
  gradients: number;
}

const FLOAT32 = 4;

const product = (shape: readonly number[]) => shape.reduce((a, b) => a * b, 1);

/** Numbers in all weights of a model. */
export const weightCount = (config: DecoderConfig): number =>
  [...parameterSpecs(config).values()].reduce((sum, { shape }) => sum + product(shape), 0);

/** Numbers in the weights of one layer. */
export const layerCount = (config: DecoderConfig): number =>
  weightCount({ ...config, layers: 1 }) - weightCount({ ...config, layers: 0 });

/** Numbers that are multiplied as matrices: projections and the head. */
const projectionCount = (config: DecoderConfig): number =>
  [...parameterSpecs(config).values()]
    .filter(({ role }) => role === 'projection')
    .reduce((sum, { shape }) => sum + product(shape), config.tied ? config.vocabSize * config.hiddenSize : 0);

/** Bytes of the copy of the weights that is laid out for decoding. */
export const layoutBytes = (config: DecoderConfig, size: number): number => size * projectionCount(config);

/** @param size - bytes of one number of the weights */
export function holdingsOf(
  config: DecoderConfig,
  size: number,
  trained: TrainedPart,
  reference: Reference | undefined,
): Holdings {
  const count = weightCount(config);
  const masters = size < FLOAT32 ? FLOAT32 : 0;
  const adapters = typeof trained === 'object' ? trained.adapters : 0;
  const updated = trained === 'weights' ? count : adapters;
  const moving = reference?.moves ? reference.weights * masters : 0;
  return {
    weights: count * size,
    adapters: adapters * FLOAT32,
    optimizer: updated * 2 * FLOAT32 + (trained === 'weights' ? count * masters : 0),
    reference: reference ? reference.weights * size + reference.adapters * FLOAT32 + moving : 0,
    gradients: updated * FLOAT32,
  };
}

/** Bytes of one checkpoint on the disk, but for the tokenizer's files: weights or adapters, and what the optimizer holds. */
export function checkpointBytes(
  config: DecoderConfig,
  size: number,
  trained: TrainedPart,
  reference?: Reference,
): number {
  const { weights, adapters, optimizer } = holdingsOf(config, size, trained, undefined);
  const moving = reference?.moves ? FLOAT32 * (reference.weights + reference.adapters) : 0;
  return (trained === 'weights' ? weights : adapters) + optimizer + moving;
}
