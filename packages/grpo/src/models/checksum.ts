import { createHash } from 'node:crypto';
import { noGrad, type Tensor, tidy } from '@grpo/torch';
import type { Decoder } from './decoder.js';
import { sampleOf } from './sample-of.js';

/** A number of 32 bits from some elements of each tensor: tensors that an update has changed have another. */
export function checksumOf(tensors: Iterable<Tensor>): number {
  const hash = createHash('sha256');
  noGrad(() =>
    tidy(() => {
      for (const tensor of tensors) hash.update(sampleOf(tensor).contiguous().toBytes());
    }),
  );
  return hash.digest().readUInt32BE();
}

/** The checksum of a decoder's weights and adapters. */
export const weightsChecksum = ({ parameters, lora }: Pick<Decoder, 'parameters' | 'lora'>): number =>
  checksumOf([...parameters.values(), ...(lora?.parameters.values() ?? [])]);
