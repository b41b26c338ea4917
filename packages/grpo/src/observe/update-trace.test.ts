import { tensor, zeros } from '@grpo/torch';
import { expect, it } from 'vitest';
import { idleAdapters, normsOf } from './update-trace.js';

it('a first matrix of an adapter needs no gradient while its second one is 0', () => {
  const trainable = new Map([
    ['layers.0.q.lora_A.weight', tensor([1])],
    ['layers.0.q.lora_B.weight', zeros([1])],
    ['layers.0.k.lora_A.weight', tensor([1])],
    ['layers.0.k.lora_B.weight', tensor([0.5])],
  ]);
  const idle = idleAdapters(trainable);
  expect([...idle]).toEqual(['layers.0.q.lora_A.weight']);
  const norms = new Map([...trainable.keys()].map((name) => [name, name.includes('lora_A') ? 0 : 1]));
  expect(normsOf(norms, idle).zeroGradients).toBe(0.25);
});
