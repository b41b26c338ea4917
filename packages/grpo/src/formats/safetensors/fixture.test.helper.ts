import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { SafetensorsDtype } from './dtype.js';

const root = new URL('../../../../../parity/fixtures/safetensors/', import.meta.url);

/** The path of a file that Python's safetensors wrote (parity/make_safetensors_fixture.py). */
export const fixture = (name: string): string => fileURLToPath(new URL(name, root));

/** Tensors that Python reads from `dtypes.safetensors` and `sharded/`. */
export const expectedTensors: Record<string, { dtype: SafetensorsDtype; shape: number[]; hex: string }> =
  JSON.parse(readFileSync(fixture('expected.json'), 'utf8'));
