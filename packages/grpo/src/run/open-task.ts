import type { Config } from '../config/schema.js';
import type { Watch } from '../progress/watch.js';
import { type LoadedTask, loadTask } from '../tasks/index.js';
import { resolveDevice } from './device.js';
import { rewardModel } from './reward-model.js';

/** Loads the configured task with its reward models, which live on the run's device and in its kind of number. */
export function openTask(config: Config, watch?: Watch): Promise<LoadedTask> {
  const { dtype, train } = config;
  return loadTask(config, (model) =>
    rewardModel(model, {
      dtype,
      device: resolveDevice(config.device),
      microBatchTokens: train.microBatchTokens,
      watch,
    }),
  );
}
