import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { makeFolder } from './disk.js';
import type { Layout } from './layout.js';
import { buildDir, libtorchVariable, shortHash } from './paths.js';

/** The ways to a libtorch, in the order in which they are tried. */
export type Source = 'LIBTORCH' | 'python3' | 'cache' | 'debian';

/** A libtorch and the way that led to it. */
export interface Libtorch extends Layout {
  source: Source;
}

/** Record of a set-up: what it found and built. */
export interface BuildRecord {
  /** The addon, ready for `process.dlopen`. */
  addon: string;
  libtorch: Libtorch;
  /** First line of the compiler's `--version`. */
  compiler: string;
  /** The Node that built it. */
  node: { version: string; modules: string; arch: string };
  /** Hash of everything that the addon depends on. */
  key: string;
}

/** Where the addon of a key lies. */
export function addonPath(key: string, build = buildDir()): string {
  return join(build, key, 'torch.node');
}

/** Where the record of the present `LIBTORCH`, or of its absence, lies. */
export function recordPath(build = buildDir()): string {
  const root = libtorchVariable();
  return join(build, `found-${root ? shortHash(root) : 'default'}.json`);
}

/** The record that set-up left, or undefined when there is none or its addon is gone. Reads two files at most. */
export function readBuildRecord(build = buildDir()): BuildRecord | undefined {
  const file = recordPath(build);
  if (!existsSync(file)) return undefined;
  const record = JSON.parse(readFileSync(file, 'utf8')) as Omit<BuildRecord, 'addon'>;
  const addon = addonPath(record.key, build);
  return existsSync(addon) ? { addon, ...record } : undefined;
}

/** Writes the record. The addon's path follows from the key, so that a clone may be moved. */
export function writeBuildRecord({ addon: _, ...record }: BuildRecord, build = buildDir()): void {
  const file = recordPath(build);
  const temporary = `${file}.${process.pid}`;
  makeFolder(dirname(file));
  writeFileSync(temporary, `${JSON.stringify(record, null, 2)}\n`);
  renameSync(temporary, file);
}
