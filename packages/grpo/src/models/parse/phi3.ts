import type { DecoderConfig, RopeScaling } from '../config.js';
import type { ConfigFields } from '../config-fields.js';
import type { RopeShape } from './rope.js';
import { headDimOf, rotary } from './rotary.js';

/**
 * Phi-3 and Phi-4-mini. Their longrope has other frequencies for sequences beyond the length of its first training. A model
 * whose positions change while a sequence grows cannot be scored exactly, so that its context ends there.
 */
export function phi3(fields: ConfigFields): DecoderConfig {
  const inside = fields.object('rope_parameters') ?? fields.object('rope_scaling');
  const positions = fields.size('max_position_embeddings', 4096);
  const firstIn = fields.value('original_max_position_embeddings') === undefined ? inside : fields;
  const first = (firstIn ?? fields).size('original_max_position_embeddings', positions);
  const partial = inside?.value('partial_rotary_factor') === undefined ? fields : inside;
  const share = partial.positive('partial_rotary_factor', 1);
  const dims = Math.trunc(headDimOf(fields) * share);
  if (share > 1 || dims % 2 !== 0)
    fields.fail(
      `partial_rotary_factor ${share} turns ${dims} dimensions of a head; they must be pairs of it`,
    );
  const longrope = (scaling: ConfigFields, { dims }: RopeShape): RopeScaling => ({
    type: 'longrope',
    factors:
      scaling.list('short_factor', dims / 2, factorOf, 'a number above 0') ??
      scaling.fail('short_factor is missing'),
    attentionFactor: scaling.positive(
      'attention_factor',
      attentionFactor(scaling.positive('factor', positions / first), first),
    ),
  });
  const types = new Map(['longrope', 'su'].map((type) => [type, longrope]));
  const config = rotary(fields, 'phi3', {
    normEps: 1e-5,
    window: fields.optional('sliding_window'),
    rope: { dims, types },
  });
  const isLong = config.ropes[0]?.scaling?.type === 'longrope';
  return { ...config, maxPositions: isLong ? Math.min(first, positions) : positions };
}

const factorOf = (entry: unknown) => (typeof entry === 'number' && entry > 0 ? entry : undefined);

/** LongRoPE's (Ding et al., 2024) factor of turned queries and keys, for a context so many times longer. */
const attentionFactor = (longer: number, first: number) =>
  longer <= 1 ? 1 : Math.sqrt(1 + Math.log(longer) / Math.log(first));
