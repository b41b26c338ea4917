import type { DecoderConfig } from '../config.js';
import type { ConfigFields } from '../config-fields.js';
import { rotary } from './rotary.js';

const turned = new Map<unknown, boolean>([
  [0, false],
  [1, true],
]);

/** Some layers know no positions: where `no_rope_layers` has a 0, else one of every four. */
export function smollm3(fields: ConfigFields): DecoderConfig {
  const layers = fields.size('num_hidden_layers');
  const interval = fields.size('no_rope_layer_interval', 4);
  const named = fields.list('no_rope_layers', layers, (entry) => turned.get(entry), '0 or 1');
  const isTurned = (layer: number) => named?.[layer] ?? (layer + 1) % interval !== 0;
  const config = rotary(fields, 'smollm3', {
    biases: ['attention_bias', 'mlp_bias'],
    maxPositions: 32768,
    tied: true,
    rope: { theta: 2_000_000 },
    ...(fields.flag('use_sliding_window', false) && {
      window: fields.optional('sliding_window'),
      isWindowed: (layer: number) => !isTurned(layer),
    }),
  });
  const withoutRope = ({ rope: _, ...layer }: DecoderConfig['attention'][number]) => layer;
  return {
    ...config,
    attention: config.attention.map((layer, i) => (isTurned(i) ? layer : withoutRope(layer))),
  };
}
