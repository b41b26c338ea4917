import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../formats/temp-folder.test.helper.js';
import { modelFolder, pinModel } from './model-folder.js';
import { parseReference } from './repository.js';

const COMMIT = '0123456789abcdef0123456789abcdef01234567';

/** A cache with `org/name`, as `main` and as `pr/1`. */
function cacheWith(...files: string[]): { cache: string; snapshot: string } {
  const cache = tempFolder();
  const folder = join(cache, 'models--org--name');
  const snapshot = join(folder, 'snapshots', COMMIT);
  mkdirSync(snapshot, { recursive: true });
  mkdirSync(join(folder, 'refs/pr'), { recursive: true });
  for (const ref of ['main', 'pr/1']) writeFileSync(join(folder, 'refs', ref), COMMIT);
  for (const file of files) writeFileSync(join(snapshot, file), '');
  return { cache, snapshot };
}

const WHOLE = ['config.json', 'tokenizer.json', 'model.safetensors'];

describe('a model reference', () => {
  it.each([
    ['org/name', { name: 'org/name', revision: undefined }],
    ['Qwen/Qwen2.5-0.5B-Instruct@v1.0', { name: 'Qwen/Qwen2.5-0.5B-Instruct', revision: 'v1.0' }],
    ['org/name@refs/pr/1', { name: 'org/name', revision: 'refs/pr/1' }],
  ])('is %s', (text, reference) => {
    expect(parseReference(text)).toEqual(reference);
  });

  it.each([
    'name',
    './name',
    '../name',
    '/name',
    'a/b/c',
    'org/../x',
    'org/a--b',
    'org/',
    'org/name@',
    'org/name@../x',
  ])('is not %s', (text) => {
    expect(parseReference(text)).toBeUndefined();
  });

  it('leads to the snapshot of a branch, of main or of a commit', () => {
    const { cache, snapshot } = cacheWith(...WHOLE);
    for (const model of ['org/name', 'org/name@main', 'org/name@pr/1', `org/name@${COMMIT}`]) {
      expect(modelFolder(model, cache)).toBe(snapshot);
      expect(pinModel(model, cache)).toBe(`org/name@${COMMIT}`);
    }
  });

  it('that is not in the cache names the command that gets it', () => {
    const { cache, snapshot } = cacheWith(...WHOLE);
    const hint = (model: string) => {
      try {
        modelFolder(model, cache);
      } catch (error) {
        return [(error as Error).message, (error as { hint?: string }).hint];
      }
      return [];
    };
    expect(hint('org/other')).toEqual([
      `no model org/other: there is no such folder, and none of that name in ${cache}`,
      'To get it from the hub: npx grpo fetch org/other',
    ]);
    expect(hint('org/name@v2')[1]).toBe('To get it from the hub: npx grpo fetch org/name --revision v2');
    expect(hint('models/here/name')[0]).toBe('no model folder at models/here/name');
    expect(pinModel('org/other', cache)).toBe('org/other');
    // A branch whose snapshot was deleted is as good as none.
    rmSync(snapshot, { recursive: true });
    expect(hint('org/name')[0]).toContain('no model org/name');
  });

  it.each([
    [['config.json', 'tokenizer.json'], 'model.safetensors'],
    [['model.safetensors'], 'config.json, tokenizer.json'],
  ])('to a snapshot that has only %s tells what is missing', (files, missing) => {
    const { cache, snapshot } = cacheWith(...files);
    expect(() => modelFolder('org/name', cache)).toThrow(
      `the model org/name is incomplete in ${snapshot}: it lacks ${missing}`,
    );
  });

  it('to shards needs all of them', () => {
    const { cache, snapshot } = cacheWith('config.json', 'tokenizer.json', 'a.safetensors');
    const shards = { x: 'a.safetensors', y: 'b.safetensors', z: 'b.safetensors' };
    writeFileSync(join(snapshot, 'model.safetensors.index.json'), JSON.stringify({ weight_map: shards }));
    expect(() => modelFolder('org/name', cache)).toThrow(/lacks b\.safetensors$/);
    writeFileSync(join(snapshot, 'b.safetensors'), '');
    expect(modelFolder('org/name', cache)).toBe(snapshot);
  });
});
