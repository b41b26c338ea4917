/** Tests of models and objective run on the device that GRPO_DEVICE names. */
import * as torch from '@grpo/torch';

export const DEVICE = process.env.GRPO_DEVICE || 'cpu';

/** A tensor on that device. */
export const tensor: typeof torch.tensor = (data, shape, options) =>
  torch.tensor(data, shape, { device: DEVICE, ...options });
