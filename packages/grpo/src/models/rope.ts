import { arange, cat, type DType, keep, noGrad, type Tensor, tensor, tidy } from '@grpo/torch';
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

/** Rotary position embedding (Su et al., 2021), with tables that grow to the longest position seen. */
export class Rope {
  readonly #frequencies: number[];
  #tables: { cos: Tensor; sin: Tensor } | undefined;

  constructor(
    config: DecoderConfig,
    private readonly dtype: DType,
    private readonly device: string,
  ) {
    this.#frequencies = rotaryFrequencies(config);
  }

  /** The rotations at the given positions `[N]` below `end`: cos and sin, each `[N, 1, headDim / 2]`. */
  at(positions_N: Tensor, end: number): { cos: Tensor; sin: Tensor } {
    const tables = this.#upTo(end);
    return {
      cos: tables.cos.indexSelect(0, positions_N).unsqueeze(1),
      sin: tables.sin.indexSelect(0, positions_N).unsqueeze(1),
    };
  }

  #upTo(end: number): { cos: Tensor; sin: Tensor } {
    if (this.#tables && this.#tables.cos.size(0) >= end) return this.#tables;
    const length = 2 ** Math.ceil(Math.log2(Math.max(end, 64)));
    this.dispose();
    // Angles in float32, as transformers computes them.
    this.#tables = noGrad(() =>
      tidy(() => {
        const positions = arange(0, length, 1, { dtype: 'float32', device: this.device });
        const angles = positions
          .unsqueeze(1)
          .mul(tensor(this.#frequencies, undefined, { device: this.device }));
        return { cos: keep(angles.cos().to(this.dtype)), sin: keep(angles.sin().to(this.dtype)) };
      }),
    );
    return this.#tables;
  }

  dispose(): void {
    this.#tables?.cos.dispose();
    this.#tables?.sin.dispose();
    this.#tables = undefined;
  }
}

/** Turns each head's pairs (i, i + headDim / 2) of `x` `[N, heads, headDim]`. */
export function rotate(x: Tensor, { cos, sin }: { cos: Tensor; sin: Tensor }): Tensor {
  const half = x.size(-1) / 2;
  const [a, b] = x.splitWithSizes([half, half], -1) as [Tensor, Tensor];
  return cat([a.mul(cos).sub(b.mul(sin)), b.mul(cos).add(a.mul(sin))], -1);
}
