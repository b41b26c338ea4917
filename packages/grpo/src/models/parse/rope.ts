import type { RopeConfig, RopeScaling } from '../config.js';
import type { ConfigFields } from '../config-fields.js';

/** Reads the settings of a kind of scaling. */
type ReadScaling = (inside: ConfigFields, shape: RopeShape) => RopeScaling | undefined;

const ropeTypes = new Map<string, ReadScaling>([
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

/** What a rope is read with beside its own keys. */
export interface RopeShape {
  /** Dimensions that are turned. */
  dims: number;
  /** Base of the frequencies where the file names none. */
  theta?: number;
  /** Kinds of scaling beside the usual ones. */
  types?: ReadonlyMap<string, ReadScaling>;
}

/** transformers 5 writes `rope_parameters`; before, `rope_theta` stood beside `rope_scaling`. */
export const rope = (fields: ConfigFields, shape: RopeShape): RopeConfig =>
  ropeOf(fields.object('rope_parameters') ?? fields.object('rope_scaling'), fields, shape);

/**
 * @param inside - the object of the rope's keys
 * @param outside - where its base stands if not inside
 */
export function ropeOf(
  inside: ConfigFields | undefined,
  outside: ConfigFields,
  shape: RopeShape,
  thetaKey = 'rope_theta',
): RopeConfig {
  const { dims, theta: usual = 10000, types = [] } = shape;
  const isInside = inside?.value('rope_theta') !== undefined;
  const theta = isInside ? inside.factor('rope_theta') : outside.factor(thetaKey, usual);
  if (!inside) return { theta, dims };
  // Before transformers 4.43 the key was `type`.
  const key = inside.value('rope_type') === undefined ? 'type' : 'rope_type';
  const scaling = inside.choice(key, new Map([...ropeTypes, ...types]), 'default')(inside, shape);
  return scaling ? { theta, dims, scaling } : { theta, dims };
}
