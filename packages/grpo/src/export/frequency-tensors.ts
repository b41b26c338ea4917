import { FormatError } from '../errors/format-error.js';
import type { GgufTensor } from '../formats/gguf-writer.js';
import { isObject } from '../formats/json.js';
import type { ModelFolder } from '../models/index.js';
import { rotaryFrequencies } from '../models/rope.js';

/** Divisors of the rotary frequencies as tensors, for scalings that are more than one number. */
export function frequencyTensors({ config, configJson, configFile }: ModelFolder): GgufTensor[] {
  const rope = config.ropes.find(({ scaling }) => scaling && scaling.type !== 'linear');
  if (!rope) return [];
  const { scaling, ...plain } = rope;
  if (scaling?.type === 'longrope') {
    return [
      // llama.cpp takes them for a context beyond `original_context_length`.
      divisors('rope_factors_long.weight', longFactors(configJson, configFile, rope.dims / 2)),
      divisors('rope_factors_short.weight', scaling.factors),
    ];
  }
  const scaled = rotaryFrequencies(rope);
  const shared = rotaryFrequencies(plain).map((frequency, i) => frequency / scaled[i]!);
  return [divisors('rope_freqs.weight', shared)];
}

const divisors = (name: string, values: readonly number[]): GgufTensor => ({
  name,
  type: 'F32',
  shape: [values.length],
  data: () => new Uint8Array(Float32Array.from(values).buffer),
});

/** LongRoPE's factors for long sequences, which the decoder never computes. */
function longFactors(json: ModelFolder['configJson'], file: string, pairs: number): number[] {
  const scaling = json.rope_parameters ?? json.rope_scaling;
  const factors: unknown = isObject(scaling) ? scaling.long_factor : undefined;
  if (Array.isArray(factors) && factors.length === pairs && factors.every((x) => Number.isFinite(x)))
    return factors;
  throw new FormatError(file, `long_factor of its rotary scaling must be a list of ${pairs} numbers`);
}
