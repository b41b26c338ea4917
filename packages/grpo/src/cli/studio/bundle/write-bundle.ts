/** The page with its data: one file that a double-click opens, or a folder for any static file server. */
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { byteCount } from '../../../errors/byte-count.js';
import { onFile } from '../../../errors/file-error.js';
import { UserError } from '../../../errors/user-error.js';
import { type Write, writeAtomic } from '../../../formats/atomic-file.js';
import type { Watch } from '../../../progress/watch.js';
import type { Page } from '../page.js';
import type { BundleFile } from './bundle-files.js';
import { pageDocument } from './page-document.js';

/** The data that one document holds; browsers take no text of twice as much. */
export const MOST_INSIDE = 256 * 2 ** 20;
const INDEX = 'index.html';
const BESIDE = 'files';

/** @param start - the place on the page that it opens at: `#/run/%2Fdemo/findings` */
export interface Bundle {
  page: Page;
  files: readonly BundleFile[];
  start?: string;
  watch: Watch;
}

/**
 * Writes one document that has everything inside.
 *
 * @throws UserError where the data is too large for one
 */
export function writePage(path: string, { page, files, start, watch }: Bundle): void {
  const bytes = sizeOf(files);
  if (bytes > MOST_INSIDE)
    throw new UserError(
      `One page holds at most ${byteCount(MOST_INSIDE)}, and this has ${byteCount(bytes)}`,
      {
        hint: 'A folder of any size for a static file server: grpo studio --bundle OUT PATH',
      },
    );
  const { before, after } = pageDocument(page, "'none'");
  writeAtomic(path, (write) => {
    write(`${before}<div id="files" hidden${attribute('data-start', start)}>\n`);
    let done = 0;
    for (const file of files) {
      watch.report({ stage: 'writing', done, total: bytes, unit: 'bytes' });
      writeElement(
        write,
        file,
        gzipSync(onFile('read', file.file, () => readFileSync(file.file))).toString('base64'),
      );
      done += file.size;
    }
    write(`</div>\n${after}`);
  });
}

/**
 * Writes a folder with `index.html`. Data that is too large to stand in it lies beside it.
 *
 * @returns whether it needs a server
 * @throws UserError where the folder has files already
 */
export function writeBundle(folder: string, bundle: Bundle): boolean {
  if (existsSync(folder) && onFile('read', folder, () => readdirSync(folder)).some((name) => name !== INDEX))
    throw new UserError(`${folder} has files already`, { hint: 'Name a new folder: --bundle OUT' });
  onFile('write', folder, () => mkdirSync(folder, { recursive: true }));
  const { page, files, start, watch } = bundle;
  const bytes = sizeOf(files);
  if (bytes <= MOST_INSIDE) {
    writePage(join(folder, INDEX), bundle);
    return false;
  }
  let done = 0;
  for (const { path, file, size } of files) {
    watch.report({ stage: 'copying', done, total: bytes, unit: 'bytes' });
    const target = join(folder, BESIDE, path);
    onFile('write', target, () => mkdirSync(dirname(target), { recursive: true }));
    onFile('write', target, () => copyFileSync(file, target));
    done += size;
  }
  const { before, after } = pageDocument(page, "'self'");
  writeAtomic(join(folder, INDEX), (write) => {
    write(`${before}<div id="files" hidden data-base="${BESIDE}"${attribute('data-start', start)}>\n`);
    for (const file of files) writeElement(write, file, '');
    write(`</div>\n${after}`);
  });
  return true;
}

function writeElement(write: Write, { path, size, modified }: BundleFile, content: string): void {
  write(
    `<script type="text/plain"${attribute('data-path', path)} data-size="${size}" data-modified="${modified}">${content}</script>\n`,
  );
}

const attribute = (name: string, value: string | undefined): string =>
  value === undefined ? '' : ` ${name}="${value.replaceAll('&', '&amp;').replaceAll('"', '&quot;')}"`;

const sizeOf = (files: readonly BundleFile[]): number => files.reduce((sum, { size }) => sum + size, 0);
