import type { Tensor } from '@grpo/torch';

/** A model as its folder has it, without anything that `models/` makes of it. */
export interface PlainModel {
  /** `config.json`. */
  config: Readonly<Record<string, unknown>>;
  /** The token that stands at a hidden place of a masked-diffusion model. */
  maskId?: number | undefined;
  /** By their names in the checkpoint; projections as `[out, in]`. */
  weights: ReadonlyMap<string, Tensor>;
  /** `NAME.lora_A.weight` and `NAME.lora_B.weight`, with the factor of B A that is declared: alpha / rank. */
  adapters?: { matrices: ReadonlyMap<string, Tensor>; scale: number } | undefined;
  /** A factor: what each part of a layer gives is rounded to bfloat16 when it is multiplied by it. Each rounds otherwise. */
  roundsAt?: number | undefined;
}
