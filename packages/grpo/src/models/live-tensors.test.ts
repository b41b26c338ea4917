import { memory, noGrad, tidy } from '@grpo/torch';
import { describe, expect, it, onTestFinished } from 'vitest';
import { DEVICE } from '../device.test.helper.js';
import { DecodingDecoder } from './decoding-decoder.js';
import { initDecoder } from './init.js';
import { initLora } from './lora/init-lora.js';
import { packSegments } from './pack-segments.js';
import { parseConfig } from './parse/parse-config.js';

const LAYERS = 5;
const HIDDEN = 16;

const config = parseConfig(
  {
    model_type: 'qwen2',
    hidden_size: HIDDEN,
    intermediate_size: 64,
    num_hidden_layers: LAYERS,
    num_attention_heads: 2,
    num_key_value_heads: 1,
    vocab_size: 50,
    max_position_embeddings: 64,
    rms_norm_eps: 1e-6,
    tie_word_embeddings: true,
  },
  'config.json',
);
const ids = Array.from({ length: 20 }, (_, i) => i);

function decoderOf(adapted: boolean) {
  const base = initDecoder(config, { seed: 1, device: DEVICE });
  onTestFinished(() => base.dispose());
  if (!adapted) return base;
  const decoder = base.withLora(
    initLora(config, { rank: 2, alpha: 4, base: '' }, { seed: 1, device: DEVICE }),
  );
  onTestFinished(() => decoder.lora!.dispose());
  return decoder;
}

describe.each(['weights', 'adapters'])('a pass with %s', (name) => {
  const decoder = () => decoderOf(name === 'adapters');

  /** Live tensors and bytes where each layer attends. */
  function liveAtEachLayer(): { tensors: number; bytes: number }[] {
    const seen: { tensors: number; bytes: number }[] = [];
    const model = decoder();
    for (const parameter of model.trainable.values()) parameter.requiresGrad = true;
    tidy(() => {
      const packed = packSegments([{ ids }], config, DEVICE);
      model.hidden(packed, (layer, q, k, v) => {
        seen.push(memory());
        return packed.attend(layer, q, k, v);
      });
    });
    return seen;
  }

  it('holds nothing of the layers before, with gradients or without', () => {
    const without = noGrad(liveAtEachLayer);
    expect(without).toEqual(Array(LAYERS).fill(without[0]));
    const having = liveAtEachLayer();
    expect(having).toEqual(Array(LAYERS).fill(having[0]));
  });
});

it('a decode step holds two rows of each layer before', () => {
  const decoder = decoderOf(false);
  if (!decoder.fuses) return;
  const bytes: number[] = [];
  using decoding = new DecodingDecoder(decoder);
  noGrad(() =>
    tidy(() => {
      const packed = packSegments([{ ids }], config, DEVICE);
      decoding.decode(packed, (_layer, [q]) => {
        bytes.push(memory().bytes);
        return q;
      });
    }),
  );
  const growth = bytes.slice(1).map((value, i) => value - bytes[i]!);
  expect(Math.max(...growth)).toBeLessThanOrEqual(2 * ids.length * HIDDEN * 4);
});
