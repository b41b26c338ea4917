import { cpSync, existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { readGguf } from '../../formats/read-gguf.test.helper.js';
import { sharedFolder } from '../../formats/temp-folder.test.helper.js';
import { call, type Ended } from '../grpo.test.helper.js';

const fixtures = fileURLToPath(new URL('../../../../../parity/fixtures/', import.meta.url));
const dir = sharedFolder();
const exportModel = (...argv: string[]) => call(dir, 'export', ...argv);
const said = ({ code, out, err }: Ended) => `${code} ${out}${err}`;

/** A run's folder, with checkpoints of these names. */
function makeRun(run: string, names: string[]): void {
  mkdirSync(join(dir, run, 'checkpoints'), { recursive: true });
  for (const name of names)
    cpSync(join(fixtures, 'models/qwen2'), join(dir, run, 'checkpoints', name), { recursive: true });
}

beforeAll(() => {
  cpSync(join(fixtures, 'models/llama3'), join(dir, 'llama3'), { recursive: true });
  cpSync(join(fixtures, 'lora/llama3'), join(dir, 'adapter'), { recursive: true });
});
describe('grpo export', () => {
  it('writes a model, in the type that is asked for', async () => {
    expect(said(await exportModel('llama3', '--gguf', 'plain.gguf'))).toMatch(
      /^0 Model: plain\.gguf \(llama3, f16, \d+ kB\)\n$/,
    );
    expect(said(await exportModel('llama3', '--gguf', 'small.gguf', '--type', 'q8_0'))).toMatch(
      /^0 Model: small\.gguf \(llama3, q8_0, \d+ kB\)\n$/,
    );
    const sizeOf = (file: string) => readGguf(join(dir, file)).tensors.get('token_embd.weight')!.bytes.length;
    expect(sizeOf('small.gguf') / sizeOf('plain.gguf')).toBe(34 / 64);
  });

  it('writes an adapter with the model that it is told', async () => {
    const ended = await exportModel('adapter', '--base', 'llama3', '--gguf', 'adapted.gguf');
    expect(said(ended)).toMatch(/^0 Model: adapted\.gguf \(llama3 with adapter, f16, \d+ kB\)\n$/);
    const values = (file: string) => readGguf(join(dir, file)).tensors.get('blk.0.ffn_up.weight')!.bytes;
    expect(values('adapted.gguf').equals(values('plain.gguf'))).toBe(false);
  });

  it('takes the newest checkpoint of a run that no error left', async () => {
    makeRun('run', ['step-9', 'step-10', 'step-11-error']);
    expect(said(await exportModel('run', '--gguf', 'run.gguf'))).toMatch(/\(run\/checkpoints\/step-10, f16/);
    makeRun('empty', []);
    expect(said(await exportModel('empty', '--gguf', 'empty.gguf'))).toMatch(
      /^1 grpo: the run in empty has no checkpoint\n/,
    );
    expect(existsSync(join(dir, 'empty.gguf'))).toBe(false);
  });

  it('says what it needs, and how llama.cpp reads text otherwise', async () => {
    expect(said(await exportModel('llama3'))).toMatch(/^2 .*needs one model, and --gguf/);
    expect(said(await exportModel('llama3', '--gguf', 'model.bin'))).toMatch(/^2 .*ends in \.gguf/);
    expect(said(await exportModel('llama3', '--gguf', 'a.gguf', '--type', 'q4_0'))).toMatch(
      /^2 .*--type is f32, f16, bf16, q8_0; found 'q4_0'/,
    );
    cpSync(join(fixtures, 'models/gpt2'), join(dir, 'gpt2'), { recursive: true });
    expect(said(await exportModel('gpt2', '--gguf', 'a.gguf'))).toMatch(
      /\nNote: llama\.cpp ends a completion at <\|end\|>, too\.\n$/,
    );
  });
});
