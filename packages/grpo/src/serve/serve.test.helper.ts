import { noGrad, type Tensor, tidy } from '@grpo/torch';
import { onTestFinished } from 'vitest';
import { tempFolder } from '../formats/temp-folder.test.helper.js';
import { type LoadedModel, saveModel } from '../models/index.js';
import { initLora } from '../models/lora/init-lora.js';
import { plainSampling } from '../rollout/index.js';
import { expectedOf, fixture } from '../rollout/rollout.test.helper.js';
import { type EngineOptions, ServeEngine } from './engine.js';
import type { GenerateRequest } from './generation.js';

/** Of 1, 5, 17 and 40 tokens. */
export const { prompts } = expectedOf('qwen3');

/** An engine on a tiny model, which ends at `endIds`. */
export function openEngine(
  options: Partial<EngineOptions> = {},
  endIds: Iterable<number> = [],
): { model: LoadedModel; engine: ServeEngine } {
  const model = fixture('qwen3', endIds);
  const engine = new ServeEngine(model, { name: 'tiny', memoryBytes: 2 ** 26, ...options });
  onTestFinished(() => {
    engine[Symbol.dispose]();
    model.decoder.dispose();
  });
  return { model, engine };
}

export const request = (change: Partial<GenerateRequest> = {}): GenerateRequest => ({
  prompt: prompts[1]!,
  count: 3,
  options: { ...plainSampling, maxNewTokens: 12, temperature: 0.8 },
  seed: 7,
  keys: [3, 4],
  ...change,
});

/** A folder with an adapter on the model, whose matrices both hold numbers. */
export function adapterFolder(model: LoadedModel, seed: number): string {
  const { decoder } = model;
  const lora = initLora(
    decoder.config,
    { rank: 2, alpha: 8, base: 'tiny' },
    { seed, device: decoder.device },
  );
  change(lora.parameters, (x) => x.fill_(0.02 * seed));
  const folder = tempFolder();
  saveModel({ ...model, decoder: decoder.withLora(lora) }, folder);
  lora.dispose();
  return folder;
}

/** A folder with the model's weights, each multiplied by a number. */
export function weightsFolder(model: LoadedModel, by = 1.1): string {
  const decoder = model.decoder.clone();
  change(decoder.parameters, (x) => x.mul_(by));
  const folder = tempFolder();
  saveModel({ ...model, decoder }, folder);
  decoder.dispose();
  return folder;
}

function change(parameters: ReadonlyMap<string, Tensor>, body: (x: Tensor) => Tensor): void {
  noGrad(() =>
    tidy(() => {
      for (const x of parameters.values()) body(x);
    }),
  );
}
