import { createHash } from 'node:crypto';
import { closeSync, fstatSync, openSync } from 'node:fs';
import { onFile } from '../errors/file-error.js';
import { readFully } from './file-io.js';

const BLOCK = 2 ** 20;
const BLOCKS = 64;

/**
 * A file's size and SHA-256, to tell whether it has changed: `1234 bytes, sha256 9f86…`.
 *
 * @param options.sample - of a file above 64 MiB, read 64 MiB spread evenly over it: a model that was trained on
 * differs everywhere, and reading tens of gigabytes takes a while
 * @throws FileError when the system refuses
 */
export function fingerprint(path: string, { sample = false } = {}): string {
  return onFile('read', path, () => {
    const fd = openSync(path, 'r');
    try {
      const { size } = fstatSync(fd);
      const sampled = sample && size > BLOCKS * BLOCK;
      const count = sampled ? BLOCKS : Math.ceil(size / BLOCK);
      const stride = sampled ? (size - BLOCK) / (BLOCKS - 1) : BLOCK;
      const hash = createHash('sha256');
      const block = new Uint8Array(BLOCK);
      for (let i = 0; i < count; i++) {
        hash.update(block.subarray(0, readFully(fd, block, Math.round(i * stride))));
      }
      return `${size} bytes, sha256${sampled ? ' of a sample' : ''} ${hash.digest('hex')}`;
    } finally {
      closeSync(fd);
    }
  });
}
