/** A checkpoint whose writing fails: at each of its system calls, in each of the ways that disks fail. */
import * as fs from 'node:fs';
import { join } from 'node:path';
import { AdamW } from '@grpo/torch';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { z } from 'zod';
import { FileError } from '../errors/file-error.js';
import { tempFolder } from '../formats/temp-folder.test.helper.js';
import { loadModel } from '../models/index.js';
import { latestCheckpoint, readTrainerState, restoreOptimizer, saveCheckpoint } from './folder/checkpoint.js';
import { tinyModel } from './tiny-model.test.helper.js';

const disk = vi.hoisted(() => ({
  /** Calls left until one fails; none fails below 0. */
  left: -1,
  code: '',
  /** Whether every call after it fails too, as on a disk that stays full. */
  stays: false,
  failed: '',
}));

vi.mock('node:fs', async (original) => {
  const real = await original<typeof fs>();
  const failing =
    <F extends (...args: never[]) => unknown>(name: string, call: F) =>
    (...args: Parameters<F>) => {
      if (disk.left < 0) return call(...args);
      disk.left--;
      if (disk.left >= 0) return call(...args);
      if (disk.stays) disk.left = 0;
      disk.failed ||= name;
      const error = new Error(`${disk.code}: injected, ${name}`);
      throw Object.assign(error, { code: disk.code, syscall: name });
    };
  const { openSync, writeSync, closeSync, renameSync, mkdirSync } = real;
  // Flushing takes the most time, and shows nothing here.
  const written = { openSync, writeSync, fsyncSync: () => {}, closeSync, renameSync, mkdirSync };
  const replaced = Object.entries(written).map(([name, call]) => [
    name,
    failing(name, call as () => unknown),
  ]);
  return { ...real, ...Object.fromEntries(replaced) };
});

/** Runs `body` with the disk failing at its `at`-th call. @returns the error, if the disk failed at all */
function failAt(at: number, code: string, stays: boolean, body: () => void): unknown {
  Object.assign(disk, { left: at, code, stays, failed: '' });
  try {
    body();
    return undefined;
  } catch (error) {
    return error;
  } finally {
    disk.left = -1;
  }
}

const MESSAGES: readonly (readonly [code: string, message: RegExp])[] = [
  ['ENOSPC', /the disk is full(, \d+ kB are needed and .* are free)?; free some space/],
  ['EDQUOT', /your disk quota is used up(, \d+ kB are needed)?; delete files of yours/],
  ['EROFS', /the file system is read-only; choose a folder on another one/],
  ['EMFILE', /too many files are open; raise the limit/],
  ['EIO', /EIO: injected/],
];

describe('a checkpoint on a disk of which', () => {
  it.each([
    ['one call fails', false],
    ['every call fails from then on', true],
  ])('%s keeps the earlier one and is named in words', async (_, stays) => {
    const root = join(tempFolder(), 'checkpoints');
    const model = await tinyModel();
    const options = { beta1: 0.9, beta2: 0.99, epsilon: 1e-8, weightDecay: 0 };
    const optimizer = new AdamW(model.decoder.parameters, options);
    onTestFinished(() => optimizer.dispose());
    const save = (step: number) => saveCheckpoint(root, { step, model, optimizer, state: { step } }, 1);
    save(1);
    const calls = new Set<string>();
    for (let at = 1; ; at++) {
      const [code, message] = MESSAGES[at % MESSAGES.length]!;
      const error = failAt(at, code, stays, () => save(2));
      if (disk.failed === '') break;
      calls.add(disk.failed);
      if (error !== undefined) {
        expect(error).toBeInstanceOf(FileError);
        expect((error as Error).message).toMatch(message);
        expect((error as Error).message).toMatch(/^cannot (write|read) .*checkpoints(\/step-[12])?: /);
      }
      // What fails after the rename finds the new one in place.
      const { dir, step } = latestCheckpoint(root)!;
      expect([1, 2]).toContain(step);
      expect(readTrainerState(dir, z.object({ step: z.number() }))).toEqual({ step });
      restoreOptimizer(dir, optimizer);
      loadModel(dir).decoder.dispose();
      fs.rmSync(join(root, 'step-2'), { recursive: true, force: true });
      save(1);
      expect(fs.readdirSync(root)).toEqual(['step-1']);
    }
    const all = ['closeSync', 'fsyncSync', 'mkdirSync', 'openSync', 'renameSync', 'writeSync'];
    expect([...calls].sort()).toEqual(all);
  });
});
