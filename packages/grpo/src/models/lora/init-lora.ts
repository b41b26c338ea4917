import { Generator, keep, noGrad, type Tensor, tidy, zeros } from '@grpo/torch';
import { UserError } from '../../errors/user-error.js';
import type { DecoderConfig } from '../config.js';
import { adaptable, isTarget, targetNames } from './adaptable.js';
import { Lora, type LoraSettings } from './lora.js';

/**
 * Fresh adapters, which change nothing yet: A uniform within ±1/√in, B zero, as PEFT begins. One seed gives one A.
 *
 * @param settings.targets - all projections of attention and MLP when not given
 * @throws UserError: a target that the model does not have
 */
export function initLora(
  config: DecoderConfig,
  settings: Omit<LoraSettings, 'targets'> & { targets?: readonly string[] | undefined },
  { seed, device }: { seed: number; device: string },
): Lora {
  const layers = adaptable(config);
  const known = targetNames(layers.keys());
  const { targets = known, rank } = settings;
  const unknown = targets.find((target) => ![...layers.keys()].some((name) => isTarget(name, [target])));
  if (unknown !== undefined) {
    throw new UserError(`lora.targets: this model has no layer '${unknown}'`, {
      hint: `It has ${known.join(', ')}.`,
    });
  }
  const generator = new Generator(seed);
  const parameters = new Map<string, Tensor>();
  noGrad(() =>
    tidy(() => {
      for (const [name, [out, input]] of layers) {
        if (!isTarget(name, targets)) continue;
        const bound = 1 / Math.sqrt(input);
        // Drawn on the CPU, so that one seed gives the same on every device.
        const a = zeros([rank, input]).uniform_(-bound, bound, { generator });
        parameters.set(`${name}.lora_A.weight`, keep(a.toDevice(device)));
        parameters.set(`${name}.lora_B.weight`, keep(zeros([out, rank], { device })));
      }
    }),
  );
  return new Lora({ ...settings, targets }, parameters);
}
