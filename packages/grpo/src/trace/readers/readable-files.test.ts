import { symlinkSync } from 'node:fs';
import { join, relative } from 'node:path';
import { expect, it } from 'vitest';
import { folderOf } from '../../formats/temp-folder.test.helper.js';
import { readableFiles } from './readable-files.js';

const namesIn = (folder: string) => readableFiles(folder).map((file) => relative(folder, file));

it('are the metrics and records of a run, and nothing of its checkpoints', () => {
  const folder = folderOf({
    'runs/a/config.json': '{}',
    'runs/a/metrics.jsonl': '',
    'runs/a/completions.jsonl': '',
    'runs/a/findings.jsonl': '',
    'runs/a/eval-completions.jsonl': '',
    'runs/a/checkpoints/000002/config.json': '{}',
    'runs/a/checkpoints/000002/trainer/state.json': '{}',
    'runs/a/steps/000002/step.json': '{}',
    'runs/a/steps/000002/step.safetensors': '',
    'runs/a/steps/000002/.tmp-1': '',
  });
  expect(namesIn(folder)).toEqual([
    'runs/a/config.json',
    'runs/a/metrics.jsonl',
    'runs/a/eval-completions.jsonl',
    'runs/a/completions.jsonl',
    'runs/a/findings.jsonl',
    'runs/a/steps/000002/step.json',
    'runs/a/steps/000002/step.safetensors',
  ]);
});

it('are the states, settings and tables of other trainers, without weights, tokenizers and what git keeps', () => {
  const kept = ['README.md', 'checkpoint-2/trainer_state.json', 'checkpoint-2/training_args.bin'];
  const more = ['completions/completions_00001.parquet', 'train.log', 'wandb/run-1/files/config.yaml'];
  const left = [
    '.git/config.json',
    '.env',
    'model.safetensors',
    'tokenizer.json',
    'checkpoint-2/optimizer.pt',
  ];
  const names = [...kept, ...more, ...left, 'checkpoint-2/config.json', 'checkpoint-2/rng_state.pth'];
  const folder = folderOf(Object.fromEntries(names.map((name) => [name, ''])));
  symlinkSync('/etc/hostname', join(folder, 'link.log'));
  expect(namesIn(folder).sort()).toEqual([...kept, ...more].sort());
});

it('are a file itself, whatever its name', () => {
  const folder = folderOf({ 'odd-name': '' });
  expect(readableFiles(join(folder, 'odd-name'))).toEqual([join(folder, 'odd-name')]);
});
