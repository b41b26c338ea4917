import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, onTestFinished } from 'vitest';

/** A new empty folder that is removed when the current test ends. */
export function tempFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'grpo-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Writes files into a new folder, which goes when the test ends; returns its path. */
export function folderOf(files: Readonly<Record<string, string | Uint8Array>>): string {
  const folder = tempFolder();
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
  return folder;
}

/** Makes an empty folder for all tests of a file, or of a group of them, that is gone after them. */
export function sharedFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'grpo-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
