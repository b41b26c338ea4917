import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { tempFolder } from '../formats/temp-folder.test.helper.js';
import { sweepWeights } from './published-weights.js';

it('what a killed process of the run left is deleted, and nothing of other runs', () => {
  const [folder, runFolder] = [tempFolder(), tempFolder()];
  for (const root of [folder, runFolder])
    for (const name of ['grpo-12345678-ab12-step-3', 'grpo-87654321-ab12-step-3', 'notes']) {
      mkdirSync(join(root, name));
      writeFileSync(join(root, name, 'model.safetensors'), 'half');
    }
  sweepWeights({ folder, runFolder, isLocal: true, prefix: 'grpo-12345678-', session: 'cd34' });
  for (const root of [folder, runFolder])
    expect(readdirSync(root)).toEqual(['grpo-87654321-ab12-step-3', 'notes']);
  sweepWeights({ folder, runFolder: join(runFolder, 'none'), isLocal: true, prefix: 'x-', session: 'cd34' });
});
