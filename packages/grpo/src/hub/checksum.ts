import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { fileError } from '../errors/file-error.js';

/** What a file's bytes must hash to: SHA-256 of large files, git's blob hash (SHA-1) of small ones. */
export interface Digest {
  algorithm: 'sha256' | 'git-sha1';
  hex: string;
}

/** Hashes a file of `size` bytes as it lies on the disk. */
export async function digestOf(path: string, size: number, algorithm: Digest['algorithm']): Promise<string> {
  const hash = createHash(algorithm === 'sha256' ? 'sha256' : 'sha1');
  if (algorithm === 'git-sha1') hash.update(`blob ${size}\0`);
  try {
    for await (const chunk of createReadStream(path, { highWaterMark: 2 ** 20 }))
      hash.update(chunk as Buffer);
  } catch (error) {
    throw fileError('read', path, error);
  }
  return hash.digest('hex');
}
