/** Runs on a small disk of their own. Making one takes root; elsewhere `failing-disk.test.ts` has to do. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { FileError } from '../errors/file-error.js';
import { tempFolder } from '../formats/temp-folder.test.helper.js';
import { remainsOf, run } from './run.test.helper.js';

function mount(folder: string, ...options: string[]): boolean {
  return spawnSync('mount', ['-t', 'tmpfs', ...options, 'tmpfs', folder]).status === 0;
}

const unmount = (folder: string) => spawnSync('umount', ['-l', folder]);

/** Whether this process may mount. */
function mayMount(): boolean {
  const folder = tempFolder();
  const mounted = process.platform === 'linux' && mount(folder, '-o', 'size=1m');
  if (mounted) unmount(folder);
  return mounted;
}

/** A folder on a disk of its own, with room for a run. */
function smallDisk(): string {
  const folder = join(tempFolder(), 'disk');
  mkdirSync(folder);
  expect(mount(folder, '-o', 'size=20m')).toBe(true);
  onTestFinished(() => void unmount(folder));
  return folder;
}

const filler = (disk: string) => join(disk, 'filler');

/** Leaves about so many kB free. */
function fill(disk: string, free: number): void {
  const spare = join(disk, 'spare');
  writeFileSync(spare, Buffer.alloc(free * 1000));
  try {
    for (let size = 2 ** 20; size >= 4096; size /= 2) {
      for (;;) {
        try {
          writeFileSync(filler(disk), Buffer.alloc(size), { flag: 'a' });
        } catch {
          break;
        }
      }
    }
  } finally {
    rmSync(spare);
  }
}

describe('a run on a disk that fills up', () => {
  it.for<[when: string, free: number]>([
    ['in a checkpoint', 300],
    ['in a row', 0],
  ])('%s says so, keeps what was saved, and goes on when there is room', async ([, free], { skip }) => {
    if (!mayMount()) skip('this process may not mount a disk');
    const settings = ['checkpoint.every=2', 'checkpoint.keep=1', 'eval.every=0'];
    const whole = join(tempFolder(), 'whole');
    await run({ output: whole, settings });
    const disk = smallDisk();
    const output = join(disk, 'run');
    const onStep = (step: number) => step === 3 && fill(disk, free);
    const error = await run({ output, settings, onStep }).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(FileError);
    expect(error).toMatchObject({ code: 'ENOSPC' });
    expect(String(error)).toMatch(/cannot write .*run\/.*: the disk is full/);
    expect(readdirSync(join(output, 'checkpoints'))).toEqual(['step-2']);
    expect(existsSync(join(output, 'run.lock'))).toBe(false);
    rmSync(filler(disk));
    await run({ output, settings, resume: true });
    expect(remainsOf(output)).toEqual(remainsOf(whole));
  });

  it('begins only where its checkpoints fit', async ({ skip }) => {
    if (!mayMount()) skip('this process may not mount a disk');
    const output = join(smallDisk(), 'run');
    const settings = ['checkpoint.keep=20'];
    await expect(run({ output, settings })).rejects.toThrow(
      /^the checkpoints need \d+ MB in .*, and \d+ MB are free: [\d.]+ MB each, 21 of them while one is written/,
    );
    const { rows } = await run({ output, settings: ['checkpoint.keep=1'], resume: true });
    expect(rows).toHaveLength(8);
  });
});
