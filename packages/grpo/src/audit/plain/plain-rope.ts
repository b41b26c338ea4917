/** Rotary embeddings, read from `config.json` as `modeling_rope_utils.py` of transformers reads them. */

export type Json = Readonly<Record<string, unknown>>;

export interface PlainRope {
  /**
   * Turn of each pair of a head's dimensions from one position to the next, in radians. The pairs are those of the first
   * dimensions of a head; the others pass as they are.
   */
  frequencies: readonly number[];
  /** Factor of the turned dimensions. */
  factor: number;
}

export const number = (config: Json, key: string, otherwise?: number): number =>
  Number(config[key] ?? otherwise);

/**
 * Types default, linear, llama3 and longrope, the last with its short factors: those of sequences up to the length that a
 * model was first trained on.
 *
 * @throws Error: another type
 */
export function ropeOf(config: Json, headDim: number): PlainRope {
  const rope = (config.rope_parameters ?? config.rope_scaling ?? {}) as Json;
  const base = Number(rope.rope_theta ?? config.rope_theta ?? 10000);
  const share = Number(rope.partial_rotary_factor ?? config.partial_rotary_factor ?? 1);
  const pairs = Math.floor(headDim * share) / 2;
  const plain = Array.from({ length: pairs }, (_, pair) => 1 / base ** (pair / pairs));
  const type = rope.rope_type ?? rope.type ?? 'default';
  if (type === 'default') return { frequencies: plain, factor: 1 };
  if (type === 'linear') {
    const factor = number(rope, 'factor');
    return { frequencies: plain.map((frequency) => frequency / factor), factor: 1 };
  }
  if (type === 'llama3') return { frequencies: llama3(plain, rope), factor: 1 };
  if (type !== 'longrope') throw new Error(`the audit knows no rope_type ${String(type)}`);
  const short = rope.short_factor as readonly number[];
  return {
    frequencies: plain.map((frequency, pair) => frequency / short[pair]!),
    factor: number(rope, 'attention_factor', longropeFactor(config, rope)),
  };
}

/** By how much a model was stretched, the key of the model before that of the rope. */
function longropeFactor(config: Json, rope: Json): number {
  const trained = number(
    config,
    'original_max_position_embeddings',
    number(rope, 'original_max_position_embeddings'),
  );
  const stretched = number(rope, 'factor', number(config, 'max_position_embeddings') / trained);
  return stretched <= 1 ? 1 : Math.sqrt(1 + Math.log(stretched) / Math.log(trained));
}

function llama3(plain: readonly number[], rope: Json): number[] {
  const factor = number(rope, 'factor');
  const [low, high] = [number(rope, 'low_freq_factor'), number(rope, 'high_freq_factor')];
  const trained = number(rope, 'original_max_position_embeddings');
  return plain.map((frequency) => {
    const wavelength = (2 * Math.PI) / frequency;
    if (wavelength < trained / high) return frequency;
    if (wavelength > trained / low) return frequency / factor;
    const smooth = (trained / wavelength - low) / (high - low);
    return ((1 - smooth) / factor + smooth) * frequency;
  });
}
