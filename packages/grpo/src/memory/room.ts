/** What a budget of bytes leaves for work, and how much of it is worth taking. */
import type { DecoderConfig } from '../models/config.js';
import type { Engine } from './decoding.js';
import { layoutBytes, weightCount } from './holdings.js';

/** A lot of completions gets as much, where the budget has it. */
export const LEAST_LOT = 2 ** 29;

/** Of what is left for a lot, what its prompts may take while they are computed comes on top: a quarter. */
const WITH_PREFILL = 5 / 4;

/** Bytes that completions may take beside the weights that are laid out for decoding, and beside prompts. */
export const roomOfLots = (config: DecoderConfig, engine: Engine, free: number): number =>
  Math.max(0, Math.floor((free - layoutBytes(config, engine.size)) / WITH_PREFILL));

/** Bytes that leave so much room for completions. */
export const bytesForRoom = (config: DecoderConfig, engine: Engine, room: number): number =>
  layoutBytes(config, engine.size) + Math.ceil(WITH_PREFILL * room);

/**
 * Bytes of a lot of completions that are decoded together. On a CPU a step reads the weights and the lot's cache: a lot much
 * larger than the weights makes decoding hardly faster, so that half of their bytes are enough, whatever the budget. On a
 * GPU a step takes about as long for few rows as for many: a lot takes what there is.
 *
 * @param free - what the budget leaves beside all that is held
 */
export function lotBytes(config: DecoderConfig, engine: Engine, free: number): number {
  const enough = engine.fuses
    ? Math.max(LEAST_LOT, (weightCount(config) * engine.size) / 2)
    : Number.POSITIVE_INFINITY;
  return Math.floor(Math.min(enough, roomOfLots(config, engine, free)));
}
