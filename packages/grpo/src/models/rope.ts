import { type DType, keep, type Tensor, tensor } from '@grpo/torch';
import type { RopeConfig } from './config.js';

/** Frequencies of a rotary embedding, one for each pair of turned dimensions: `[dims / 2]`. */
export function rotaryFrequencies({ theta, dims, scaling }: RopeConfig): number[] {
  const plain = Array.from({ length: dims / 2 }, (_, i) => theta ** ((-2 * i) / dims));
  if (!scaling) return plain;
  if (scaling.type === 'longrope') return plain.map((f, i) => f / scaling.factors[i]!);
  const { factor } = scaling;
  if (scaling.type === 'linear') return plain.map((f) => f / factor);
  // Llama 3: long wavelengths are stretched, short ones kept, those between blended.
  const { lowFreqFactor, highFreqFactor, originalPositions } = scaling;
  return plain.map((f) => {
    const turns = (originalPositions * f) / (2 * Math.PI);
    if (turns < lowFreqFactor) return f / factor;
    if (turns > highFreqFactor) return f;
    const kept = (turns - lowFreqFactor) / (highFreqFactor - lowFreqFactor);
    return (1 - kept) * (f / factor) + kept * f;
  });
}

/** The rotations of N tokens: cos and sin, each `[N, 1, dims / 2]`. */
export interface Rotation {
  cos: Tensor;
  sin: Tensor;
}

/** Rotary position embedding (Su et al., 2021). */
export class Rope {
  readonly #frequencies: Tensor;
  /** Factor of cos and sin. */
  readonly #scale: number;

  constructor(
    config: RopeConfig,
    private readonly dtype: DType,
    device: string,
  ) {
    this.#frequencies = keep(tensor(rotaryFrequencies(config), undefined, { device }));
    this.#scale = config.scaling?.type === 'longrope' ? config.scaling.attentionFactor : 1;
  }

  /**
   * The rotations at the given positions `[N]`. No table is kept: one that
   * grew with the longest sequence would make the memory of a run depend on where it was resumed.
   */
  at(positions_N: Tensor): Rotation {
    // Angles in float32, as transformers computes them.
    const angles = positions_N.to('float32').unsqueeze(1).mul(this.#frequencies).unsqueeze(1);
    const scaled = (x: Tensor) => (this.#scale === 1 ? x : x.mul(this.#scale)).to(this.dtype);
    return { cos: scaled(angles.cos()), sin: scaled(angles.sin()) };
  }

  dispose(): void {
    this.#frequencies.dispose();
  }
}
