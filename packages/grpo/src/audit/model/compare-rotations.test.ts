import { type Tensor, tensor } from '@grpo/torch';
import { expect, it } from 'vitest';
import type { Decoder } from '../../models/index.js';
import type { PackedTokens } from '../../models/transformer.js';
import { compareRotations } from './compare-rotations.js';

const config = { model_type: 'llama', hidden_size: 8, num_attention_heads: 2, num_hidden_layers: 1 };
const completions = [{ prompt: Array.from({ length: 290 }, () => 1), completion: [1, 2] }];

/** Rotations of two pairs at places that are changed before, in float32. */
function compared(placeOf: (place: number) => number, dtype: 'float32' | 'bfloat16' = 'float32') {
  const rotationsAt = ({ positions_N }: PackedTokens) => {
    const places = positions_N.toNumbers().map(placeOf);
    const of = (turn: (angle: number) => number): Tensor =>
      tensor(
        places.flatMap((place) => [turn(place), turn(place / 100)]),
        [places.length, 1, 2],
      ).to(dtype);
    return [{ cos: of(Math.cos), sin: of(Math.sin) }];
  };
  const decoder = { rotationsAt, config: { attention: [{ rope: 0 }] }, device: 'cpu', dtype };
  return compareRotations(decoder as unknown as Decoder, {
    model: { config, weights: new Map() },
    completions,
  });
}

it.each(['float32', 'bfloat16'] as const)('holds right rotations in %s', (dtype) => {
  const [one] = compared((place) => place, dtype);
  expect(one).toMatchObject({ handOver: 'model', compared: 292 * 4 });
  expect(one!.off).toBeUndefined();
});

it('finds places that half precision does not tell apart', () => {
  const rounded = (place: number) => (place > 256 ? 2 * Math.round(place / 2) : place);
  expect(compared(rounded, 'bfloat16')[0]!.off).toMatchObject({ firstToken: 257 });
});

it('finds frequencies of another base', () => {
  expect(compared((place) => 1.01 * place)[0]!.off).toMatchObject({ firstToken: 1 });
});
