import type { DecoderConfig } from '../config.js';

export const activations = new Map<string, DecoderConfig['activation']>([
  ['gelu', 'gelu'],
  ['gelu_new', 'gelu_tanh'],
  ['gelu_pytorch_tanh', 'gelu_tanh'],
  ['silu', 'silu'],
]);
