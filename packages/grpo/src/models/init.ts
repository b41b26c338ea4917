import { join } from 'node:path';
import { type DType, Generator, keep, noGrad, ones, type Tensor, tidy, zeros } from '@grpo/torch';
import { readJsonObject } from '../formats/json.js';
import type { DecoderConfig } from './config.js';
import { OwningDecoder } from './decoder.js';
import { saveWeights } from './folder/save.js';
import { namesOf, parameterSpecs } from './parameters.js';
import { parseConfig } from './parse/parse-config.js';

/**
 * A decoder with random weights: normal with standard deviation `std`, projections into the residual stream divided by
 * √(2 × layers) as in GPT-2, norms by a factor of one, biases zero. One seed gives one model: the draws are made in float32 on the CPU
 * and then converted, whatever `dtype` and `device` are.
 *
 * @param options.std - 0.02 when left out
 */
export function initDecoder(
  config: DecoderConfig,
  options: { seed: number; dtype?: DType; device?: string; std?: number },
): OwningDecoder {
  const { dtype = 'float32', device = 'cpu', std = 0.02 } = options;
  const generator = new Generator(options.seed);
  const names = namesOf(config);
  const residual = new Set(
    Array.from({ length: config.layers }, (_, i) => names.layer(i)).flatMap((l) => [
      `${l.output}.weight`,
      `${l.down}.weight`,
    ]),
  );
  const parameters = new Map<string, Tensor>();
  for (const [name, { shape, role, transposed }] of parameterSpecs(config)) {
    const size = transposed ? [...shape].reverse() : shape;
    const scale = residual.has(name) ? std / Math.sqrt(2 * config.layers) : std;
    const parameter = noGrad(() =>
      tidy(() => {
        if (role === 'norm' && config.normOffset === 0) return keep(ones(size, { dtype, device }));
        if (role === 'norm' || role === 'bias') return keep(zeros(size, { dtype, device }));
        return keep(zeros(size).normal_(0, scale, { generator }).to(dtype).toDevice(device));
      }),
    );
    parameters.set(name, parameter);
  }
  return new OwningDecoder(config, parameters);
}

/** Writes random weights into a folder that holds a model's other files. One seed gives one model. */
export function writeRandomWeights(dir: string, seed: number): void {
  const file = join(dir, 'config.json');
  const config = parseConfig(readJsonObject(file, 'the model configuration'), file);
  using decoder = initDecoder(config, { seed });
  saveWeights(decoder, dir);
}
