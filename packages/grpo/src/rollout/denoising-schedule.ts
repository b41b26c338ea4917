import type { DiffusionShape } from '../models/config.js';
import type { DenoisingOptions } from './completion.js';

/** One pass of a masked-diffusion model: how many places it fills, all of one block. */
export interface DenoisingStep {
  /** First place of the block in the region. */
  start: number;
  /** The place after its last. */
  end: number;
  count: number;
}

/** Places per block and denoising steps of a whole region: as asked for, else the model's own, else one place per step. */
export const denoisingSizes = (
  whole: number,
  options: Pick<DenoisingOptions, 'blockLength' | 'steps'>,
  shape: DiffusionShape,
): { blockLength: number; steps: number } => ({
  blockLength: options.blockLength ?? shape.blockLength ?? whole,
  steps: Math.min(whole, options.steps ?? shape.steps ?? whole),
});

/**
 * The passes that fill a region, block after block. A block has the share of the steps that its places are of the whole
 * region, rounded, and at least one; its steps fill equally many places, the first ones one more where that does not
 * divide, as in LLaDA. A region that the model's context cuts short is filled like the beginning of a whole one.
 *
 * @param width - places of the region
 * @param whole - places of a whole region
 * @param shape - the model's own block length and steps, where `options` has none
 */
export function denoisingSchedule(
  width: number,
  whole: number,
  options: Pick<DenoisingOptions, 'blockLength' | 'steps'>,
  shape: DiffusionShape,
): DenoisingStep[] {
  const { blockLength, steps } = denoisingSizes(whole, options, shape);
  const stepsUpTo = (place: number) => Math.round((place * steps) / whole);
  const schedule: DenoisingStep[] = [];
  for (let start = 0; start < width; start += blockLength) {
    const end = Math.min(width, start + blockLength);
    const passes = Math.max(1, stepsUpTo(end) - stepsUpTo(start));
    const [least, more] = [Math.floor((end - start) / passes), (end - start) % passes];
    for (let i = 0; i < passes; i++) schedule.push({ start, end, count: least + (i < more ? 1 : 0) });
  }
  return schedule;
}
