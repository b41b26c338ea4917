import type { Tensor } from '@grpo/torch';
import type { Config } from '../config/schema.js';
import { activationBytes } from '../models/activation-bytes.js';
import { type Decoder, openPass } from '../models/index.js';

/** Takes the share of a micro-batch's forward and backward pass that is done, 0 to 1. */
export type PassProgress = (share: number) => void;

/** The forward and the backward pass of a micro-batch. */
export interface TrainingPass extends Disposable {
  decoder: Decoder;
  /** For the scoring: called at each layer of the forward pass. */
  onLayer(): void;
  /** Adds the gradients of a loss of the decoder's hidden states and head to those of its weights. */
  backward(loss: Tensor): void;
}

/**
 * Opens the passes of a micro-batch, which tell of each layer once in either direction; where the backward pass computes
 * a layer again, it is heard there.
 *
 * @param tokens - of the micro-batch, each prompt counted once
 */
export function openTrainingPass(
  decoder: Decoder,
  tokens: number,
  options: { recompute: Config['train']['recompute']; room: number | undefined; tell: PassProgress },
): TrainingPass {
  const { layers } = decoder.config;
  const pass = openPass(decoder, recomputes(options.recompute, decoder, tokens, options.room));
  let heard = 0;
  const onLayer = () => {
    const back = Math.max(0, heard - layers);
    // A layer's backward pass takes about twice the time of its forward pass.
    options.tell(Math.min(1, (heard + back) / (3 * layers)));
    heard++;
  };
  return {
    decoder: pass.decoder,
    onLayer,
    backward: (loss) => pass.backward(loss, onLayer),
    [Symbol.dispose]: () => pass[Symbol.dispose](),
  };
}

/**
 * Whether the backward pass of a micro-batch computes the layers again (`train.recompute`).
 *
 * @param tokens - of the micro-batch, each prompt counted once
 * @param room - bytes that activations may take
 */
export function recomputes(
  setting: Config['train']['recompute'],
  decoder: Decoder,
  tokens: number,
  room = Number.POSITIVE_INFINITY,
): boolean {
  if (setting !== 'auto') return setting === 'layers';
  const { config, dtype, lora } = decoder;
  const inputs = [...(lora?.parameters ?? [])].flatMap(([name, matrix]) =>
    name.endsWith('.lora_A.weight') ? matrix.size(1) : [],
  );
  const adapterInputs = lora && inputs.reduce((sum, input) => sum + input, 0);
  const size = dtype === 'float32' ? 4 : 2;
  return activationBytes(config, tokens, { size, adapterInputs, recompute: false }) > room;
}
