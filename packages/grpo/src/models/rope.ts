import { cat, type DType, keep, type Tensor, tensor } from '@grpo/torch';
import type { DecoderConfig } from './config.js';

/** Frequencies of the rotary embedding, one for each pair of a head's dimensions: `[headDim / 2]`. */
export function rotaryFrequencies(config: DecoderConfig): number[] {
  const { headDim, ropeTheta = 10000, ropeScaling } = config;
  const plain = Array.from({ length: headDim / 2 }, (_, i) => ropeTheta ** ((-2 * i) / headDim));
  if (!ropeScaling) return plain;
  const { factor } = ropeScaling;
  if (ropeScaling.type === 'linear') return plain.map((f) => f / factor);
  // Llama 3: long wavelengths are stretched, short ones kept, those between blended.
  const { lowFreqFactor, highFreqFactor, originalPositions } = ropeScaling;
  return plain.map((f) => {
    const turns = (originalPositions * f) / (2 * Math.PI);
    if (turns < lowFreqFactor) return f / factor;
    if (turns > highFreqFactor) return f;
    const kept = (turns - lowFreqFactor) / (highFreqFactor - lowFreqFactor);
    return (1 - kept) * (f / factor) + kept * f;
  });
}

/** The rotations of N tokens: cos and sin, each `[N, 1, headDim / 2]`. */
export interface Rotation {
  cos: Tensor;
  sin: Tensor;
}

/** Rotary position embedding (Su et al., 2021). */
export class Rope {
  readonly #frequencies: Tensor;

  constructor(
    config: DecoderConfig,
    private readonly dtype: DType,
    device: string,
  ) {
    this.#frequencies = keep(tensor(rotaryFrequencies(config), undefined, { device }));
  }

  /**
   * The rotations at the given positions `[N]`. No table is kept: one that
   * grew with the longest sequence would make the memory of a run depend on where it was resumed.
   */
  at(positions_N: Tensor): Rotation {
    // Angles in float32, as transformers computes them.
    const angles = positions_N.to('float32').unsqueeze(1).mul(this.#frequencies).unsqueeze(1);
    return { cos: angles.cos().to(this.dtype), sin: angles.sin().to(this.dtype) };
  }

  dispose(): void {
    this.#frequencies.dispose();
  }
}

/** Turns each head's pairs (i, i + headDim / 2) of `x` `[N, heads, headDim]`. */
export function rotate(x: Tensor, { cos, sin }: Rotation): Tensor {
  const half = x.size(-1) / 2;
  const [a, b] = x.splitWithSizes([half, half], -1) as [Tensor, Tensor];
  return cat([a.mul(cos).sub(b.mul(sin)), b.mul(cos).add(a.mul(sin))], -1);
}
