/** Makers of tensors for tests of computations, on the device that GRPO_DEVICE names. */
import * as torch from './index.js';

export const DEVICE = process.env.GRPO_DEVICE || 'cpu';

export const tensor: typeof torch.tensor = (data, shape, options) =>
  torch.tensor(data, shape, { device: DEVICE, ...options });

export const ones: typeof torch.ones = (size, options) => torch.ones(size, { device: DEVICE, ...options });

export const zeros: typeof torch.zeros = (size, options) => torch.zeros(size, { device: DEVICE, ...options });
