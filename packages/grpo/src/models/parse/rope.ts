import type { RopeConfig, RopeScaling } from '../config.js';
import type { ConfigFields } from '../config-fields.js';

const ropeTypes = new Map<string, (inside: ConfigFields) => RopeScaling | undefined>([
  ['default', () => undefined],
  ['linear', (inside) => ({ type: 'linear', factor: inside.factor('factor') })],
  [
    'llama3',
    (inside) => {
      const factor = inside.factor('factor');
      const [lowFreqFactor, highFreqFactor] = [
        inside.positive('low_freq_factor'),
        inside.positive('high_freq_factor'),
      ];
      // What lies between is blended by its distance from both.
      if (lowFreqFactor >= highFreqFactor) {
        inside.fail(`low_freq_factor ${lowFreqFactor} must be below high_freq_factor ${highFreqFactor}`);
      }
      return {
        type: 'llama3',
        factor,
        lowFreqFactor,
        highFreqFactor,
        originalPositions: inside.size('original_max_position_embeddings'),
      };
    },
  ],
]);

/** transformers 5 writes `rope_parameters`; before, `rope_theta` stood beside `rope_scaling`. */
export function rope(fields: ConfigFields): Omit<RopeConfig, 'dims'> {
  const inside = fields.object('rope_parameters') ?? fields.object('rope_scaling');
  if (!inside) return { theta: fields.factor('rope_theta', 10000) };
  const holder = inside.value('rope_theta') === undefined ? fields : inside;
  const theta = holder.factor('rope_theta', 10000);
  // Before transformers 4.43 the key was `type`.
  const key = inside.value('rope_type') === undefined ? 'type' : 'rope_type';
  const scaling = inside.choice(key, ropeTypes, 'default')(inside);
  return scaling ? { theta, scaling } : { theta };
}
