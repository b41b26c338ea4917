import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { trlRun } from '../trace/trl-records.test.helper.js';
import { grpo } from './grpo.test.helper.js';

/** A machine on which libtorch has not been set up: no record is found for this one. */
let dir = '';
const RECORDS = trlRun('clean');
const MODEL = fileURLToPath(new URL('../../../../parity/fixtures/models/llama3', import.meta.url));
const ROWS = '{"question":"1+1","answer":2}\n{"question":"1+2","answer":3}\n';
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'grpo-cli-'));
  writeFileSync(join(dir, 'rows.jsonl'), ROWS);
  vi.stubEnv('LIBTORCH', join(dir, 'nowhere'));
});
afterAll(() => {
  vi.unstubAllEnvs();
  rmSync(dir, { recursive: true, force: true });
});

describe('without libtorch', () => {
  it.each([
    '--help',
    '--version',
    'train --help',
    'setup --help',
    'explain dapo',
    'diff dapo grpo-dual',
    'data countdown c.jsonl',
    'data check rows.jsonl',
    'data convert rows.jsonl converted.jsonl',
    'doctor RECORDS',
    'reward check arithmetic',
    'inspect MODEL --generate',
  ])('grpo %s works', async (line) => {
    const argv = line
      .split(' ')
      .map((word) => (word === 'RECORDS' ? RECORDS : word === 'MODEL' ? MODEL : word));
    expect(await grpo(dir, ...argv)).toMatchObject({ code: 0, err: '' });
  });

  it('a wrong setting is still what is wrong', async () => {
    const run = await grpo(dir, 'train', 'task.name=arithmetic', 'rolout.group=2');
    expect(run.code).toBe(2);
    expect(run.err).toContain('Unknown key rolout.group');
  });

  it('env says so', async () => {
    const run = await grpo(dir, 'env');
    expect(run).toMatchObject({ code: 0, err: '' });
    expect(run.out).toMatch(/^engine +libtorch is not set up yet\. Run: npx grpo setup$/m);
    expect(run.out).toMatch(/^node +v\d/m);
  });

  it('training ends with one sentence and leaves nothing', async () => {
    const run = await grpo(dir, 'train', 'task.name=arithmetic', 'output=run');
    expect(run).toMatchObject({ code: 1, out: '' });
    expect(run.err).toMatch(/^grpo: libtorch is not set up yet for LIBTORCH=.*\. Run: npx grpo setup\n$/);
    expect(existsSync(join(dir, 'run'))).toBe(false);
  });

  it('set-up says why it cannot go on', async () => {
    const run = await grpo(dir, 'setup');
    expect(run).toMatchObject({ code: 1, out: '' });
    expect(run.err).toMatch(/LIBTORCH=.*nowhere.*does not exist/);
    expect(run.err).not.toMatch(/GRPO_DEBUG|^ +at /m);
  });
});
