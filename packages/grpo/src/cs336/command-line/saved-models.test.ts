import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../../formats/temp-folder.test.helper.js';
import { nameModels } from './saved-models.js';

function checkpoint(output: string, step: number): string {
  const dir = join(output, 'checkpoints', `step-${step}`);
  mkdirSync(join(dir, 'trainer'), { recursive: true });
  writeFileSync(join(dir, 'model.safetensors'), `weights ${step}`);
  writeFileSync(join(dir, 'config.json'), '{}');
  writeFileSync(join(dir, 'trainer', 'optimizer.safetensors'), 'moments');
  return dir;
}

const run = { steps: 25, every: 10 };

describe('models under the names of the assignment', () => {
  it('are those of regular checkpoints and of the last, without the optimizer', () => {
    const output = tempFolder();
    for (const step of [10, 13, 20, 25]) nameModels({ output, dir: checkpoint(output, step), step, ...run });
    expect(readdirSync(output).sort()).toEqual([
      'checkpoint_step_10',
      'checkpoint_step_20',
      'checkpoints',
      'final_model',
    ]);
    expect(readdirSync(join(output, 'final_model')).sort()).toEqual(['config.json', 'model.safetensors']);
    expect(readFileSync(join(output, 'final_model/model.safetensors'), 'utf8')).toBe('weights 25');
  });

  it('share the files of the checkpoint, and stay when it goes', () => {
    const output = tempFolder();
    const dir = checkpoint(output, 10);
    nameModels({ output, dir, step: 10, ...run });
    const named = join(output, 'checkpoint_step_10/model.safetensors');
    expect(statSync(named).ino).toBe(statSync(join(dir, 'model.safetensors')).ino);
    rmSync(dir, { recursive: true });
    expect(readFileSync(named, 'utf8')).toBe('weights 10');
  });

  it('are replaced where a run goes over a step again', () => {
    const output = tempFolder();
    nameModels({ output, dir: checkpoint(output, 10), step: 10, ...run });
    rmSync(join(output, 'checkpoints'), { recursive: true });
    const dir = checkpoint(output, 10);
    writeFileSync(join(dir, 'model.safetensors'), 'other weights');
    nameModels({ output, dir, step: 10, ...run });
    expect(readFileSync(join(output, 'checkpoint_step_10/model.safetensors'), 'utf8')).toBe('other weights');
  });
});
