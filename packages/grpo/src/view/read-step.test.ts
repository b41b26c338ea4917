import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { RECORD_VERSION } from '../trace/index.js';
import { trlRun } from '../trace/trl-records.test.helper.js';
import { readStep } from './read-step.js';

const RUN = trlRun('clean');

it('reads the last full record where no step is asked for', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'read-step-'));
  cpSync(join(RUN, 'steps/000001'), join(folder, 'steps/000001'), { recursive: true });
  mkdirSync(join(folder, 'steps/000003'));
  const bare = { format: 'grpo-step', version: RECORD_VERSION, step: 3, producer: { name: 'other' } };
  writeFileSync(join(folder, 'steps/000003/step.json'), JSON.stringify(bare));
  expect((await readStep(folder)).step).toBe(1);
  expect((await readStep(folder, 3)).step).toBe(3);
  await expect(readStep(folder, 2)).rejects.toThrow('no record of step 2; it has those of 1, 3');
  rmSync(folder, { recursive: true });
});
