import { copyFileSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { FormatError } from '../../errors/format-error.js';
import { tempFolder } from '../temp-folder.test.helper.js';
import { expectedTensors, fixture } from './fixture.test.helper.js';
import { type Checkpoint, openCheckpoint } from './open-checkpoint.js';

const SHARD = 'model-00001-of-00002.safetensors';

function readAll(checkpoint: Checkpoint) {
  const tensors = checkpoint.names().map((name) => {
    const { dtype, shape } = checkpoint.info(name);
    return [name, { dtype, shape, hex: Buffer.from(checkpoint.read(name)).toString('hex') }];
  });
  return Object.fromEntries(tensors);
}

/** A folder with the first shard and an index of the given text. */
function folderWithIndex(index: unknown): string {
  const folder = tempFolder();
  copyFileSync(fixture(`sharded/${SHARD}`), join(folder, SHARD));
  const text = typeof index === 'string' ? index : JSON.stringify(index);
  writeFileSync(join(folder, 'model.safetensors.index.json'), text);
  return folder;
}

describe('openCheckpoint', () => {
  it('gives one view of the shards', () => {
    using checkpoint = openCheckpoint(fixture('sharded'));
    expect(readAll(checkpoint)).toEqual(expectedTensors);
    expect(() => checkpoint.info('none')).toThrow(/index\.json: no tensor "none"; it lists/);
  });

  it('takes the single file where there is one', () => {
    const folder = folderWithIndex('not read');
    copyFileSync(fixture('dtypes.safetensors'), join(folder, 'model.safetensors'));
    using checkpoint = openCheckpoint(folder);
    expect(readAll(checkpoint)).toEqual(expectedTensors);
    expect(() => checkpoint.info('none')).toThrow(/model\.safetensors: no tensor "none"/);
  });

  it('follows links, as download caches use them', () => {
    const folder = tempFolder();
    mkdirSync(join(folder, 'blobs'));
    mkdirSync(join(folder, 'snapshot'));
    copyFileSync(fixture('dtypes.safetensors'), join(folder, 'blobs', 'abc'));
    symlinkSync('../blobs/abc', join(folder, 'snapshot', 'model.safetensors'));
    using checkpoint = openCheckpoint(join(folder, 'snapshot'));
    expect(checkpoint.names()).toContain('scalar');
  });

  it.each([['../other.safetensors'], ['sub/../../other.safetensors'], ['/other.safetensors']])(
    'refuses the shard path %s, which leaves the folder',
    (file) => {
      const folder = folderWithIndex({ weight_map: { w: file } });
      expect(() => openCheckpoint(folder)).toThrow(
        `tensor "w": its file "${file}" lies outside the model's folder`,
      );
    },
  );

  it.each([
    ['a missing shard', { weight_map: { w: 'b.safetensors' } }, /the shard .*b\.safetensors is missing/],
    [
      'a tensor that its shard lacks',
      { weight_map: { w: SHARD } },
      /-00001-.*: tensor "w" is missing, though/,
    ],
    [
      'a file that is no name',
      { weight_map: { w: 3 } },
      /"w": its file must be a \.safetensors name, found 3/,
    ],
    ['a pickle as shard', { weight_map: { w: 'a.bin' } }, /\.safetensors name, found "a\.bin"/],
    ['no map', { metadata: {} }, /"weight_map" must be an object/],
    ['a tensor twice', `{"weight_map":{"w":"${SHARD}","w":"${SHARD}"}}`, /the index names "w" twice/],
    ['bad JSON', '{', /the index is not valid JSON/],
  ])('refuses an index with %s', (_, index, message) => {
    const folder = folderWithIndex(index);
    expect(() => openCheckpoint(folder)).toThrow(FormatError);
    expect(() => openCheckpoint(folder)).toThrow(message);
  });

  it.each(['pytorch_model.bin', 'consolidated.00.pt', 'model.pth'])('refuses %s with the reason', (file) => {
    const folder = tempFolder();
    writeFileSync(join(folder, file), 'x');
    expect(() => openCheckpoint(folder)).toThrow(FormatError);
    expect(() => openCheckpoint(folder)).toThrow(file);
    expect(() => openCheckpoint(folder)).toThrow(
      /loading a pickle runs whatever code it holds.*save_pretrained/,
    );
  });

  it('says what it found instead of weights', () => {
    const folder = tempFolder();
    expect(() => openCheckpoint(folder)).toThrow(/no weights: .*the folder is empty/);
    writeFileSync(join(folder, 'adapter_model.safetensors'), '');
    expect(() => openCheckpoint(folder)).toThrow(/found "adapter_model\.safetensors"/);
    expect(() => openCheckpoint(join(folder, 'none'))).toThrow(/there is no such file \(ENOENT\)/);
  });
});
