import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { Finding } from '../../doctor/finding.js';
import { type ArmContext, EndedEarlyError, runArm } from './arms.js';
import { sftRecipe } from './recipe.js';

it('an arm that the doctor stopped is no result, and says what stopped it', async () => {
  const parent = mkdtempSync(join(tmpdir(), 'demo-'));
  const options: ArmContext['options'] = { output: join(parent, 'demo'), shared: { seed: 1 } };
  const context = { options, watcher: () => ({}), signal: new AbortController().signal };
  const stopped = { code: 'H02.audit' } as unknown as Finding;
  const arm = runArm(context, sftRecipe(options), 1, async () => ({
    interrupted: false,
    stopped,
    before: undefined,
    after: undefined,
  }));
  const error = await arm.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(EndedEarlyError);
  expect(error).toMatchObject({ stopped, output: expect.stringContaining(parent) });
  rmSync(parent, { recursive: true });
});
