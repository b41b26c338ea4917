import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, onTestFinished } from 'vitest';

/** A new empty folder that is removed when the current test ends. */
export function tempFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'grpo-formats-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Makes an empty folder for all tests of a file, or of a group of them, that is gone after them. */
export function sharedFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'grpo-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
