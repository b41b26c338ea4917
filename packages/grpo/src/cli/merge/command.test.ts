import { existsSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { sharedFolder } from '../../formats/temp-folder.test.helper.js';
import { loadModel } from '../../models/index.js';
import { call, type Ended, grpo } from '../grpo.test.helper.js';

const TASK = ['task.name=arithmetic', 'eval.limit=3', 'eval.samples=0', 'rollout.maxNewTokens=6'];
const SMALL = [...TASK, 'sft.steps=4', 'sft.batchSize=8', 'sft.learningRate=0.05', 'eval.before=false'];
const ADAPTER = 'first/checkpoints/step-4';
const BASE = 'first/model';

const dir = sharedFolder();
const merge = (...argv: string[]) => call(dir, 'merge', ...argv);
/** Scores and completions on the held-out problems. */
const evaluate = async (...argv: string[]) => {
  const ended = await call(dir, 'eval', ...TASK, '--json', '--completions', 'rows.jsonl', ...argv);
  expect(ended.code, ended.err).toBe(0);
  expect(JSON.parse(ended.out).audit).toMatchObject({ findings: [], missing: [] });
  return { ...JSON.parse(ended.out), completions: readFileSync(join(dir, 'rows.jsonl'), 'utf8') };
};
const said = ({ code, out, err }: Ended) => `${code} ${out}${err}`;

beforeAll(async () => {
  const ended = await grpo(dir, 'sft', ...SMALL, 'lora.rank=4', 'output=first');
  expect(ended.code, ended.err).toBe(0);
}, 60_000);
describe('a checkpoint of adapters', () => {
  it('is a model to eval and generate, alone or beside its base', async () => {
    const alone = await evaluate(`model=${ADAPTER}`, '--against', BASE);
    const beside = await evaluate(`model=${BASE}`, `lora.adapter=${ADAPTER}`, '--against', BASE);
    const plain = await evaluate(`model=${BASE}`);
    expect(beside.completions).toBe(alone.completions);
    expect(plain.completions).not.toBe(alone.completions);
    for (const { against } of [alone, beside]) expect(against.greedy).toEqual(plain.greedy);
    const last = readFileSync(join(dir, 'first/eval.jsonl'), 'utf8').trim().split('\n').at(-1)!;
    expect(JSON.parse(last).greedy).toEqual(alone.greedy);

    const complete = async (...settings: string[]) => {
      const argv = ['rollout.temperature=0', 'rollout.maxNewTokens=8', '--prompt', '4+5=', ...settings];
      return (await call(dir, 'generate', ...argv)).out;
    };
    const own = await complete(`model=${ADAPTER}`);
    expect(own).toBe(await complete(`model=${BASE}`, `lora.adapter=${ADAPTER}`));
    expect(own).not.toBe(await complete(`model=${BASE}`));
  });
});

describe('grpo merge', () => {
  it('writes a model that is the two together', async () => {
    const ended = await merge(ADAPTER, 'merged');
    expect(said(ended)).toMatch(
      /^0 Model: merged \(.*first\/model with first\/checkpoints\/step-4, float32\)\n$/,
    );
    expect(existsSync(join(dir, 'merged/adapter_config.json'))).toBe(false);
    expect(existsSync(join(dir, 'merged/tokenizer.json'))).toBe(true);
    const [merged, adapted] = [await evaluate('model=merged'), await evaluate(`model=${ADAPTER}`)];
    expect(merged.completions).toBe(adapted.completions);

    expect(said(await merge(ADAPTER, 'narrow', '--dtype', 'bfloat16'))).toMatch(/^0 .*bfloat16\)/);
    const narrow = loadModel(join(dir, 'narrow'));
    expect(narrow.decoder.dtype).toBe('bfloat16');
    narrow.decoder.dispose();
  });

  it('finds a base that was moved where it is told', async () => {
    renameSync(join(dir, BASE), join(dir, 'moved'));
    const lost = await merge(ADAPTER, 'other');
    expect(said(lost)).toMatch(
      /^1 grpo: .*step-4 is an adapter for .*first\/model: no model folder at .*\n.*model=MODEL lora\.adapter=/,
    );
    expect(said(await merge(ADAPTER, 'other', '--base', 'moved'))).toMatch(/^0 /);
    for (const name of ['config.json', 'model.safetensors'])
      expect(readFileSync(join(dir, 'other', name))).toEqual(readFileSync(join(dir, 'merged', name)));
  });

  it('refuses what it cannot merge', async () => {
    expect(said(await merge(ADAPTER))).toMatch(/^2 .*needs the folder of an adapter and a new one/);
    expect(said(await merge('moved', 'new'))).toMatch(/^1 .*moved is a model, not an adapter/);
    expect(said(await merge(ADAPTER, 'moved', '--base', 'moved'))).toMatch(/^1 .*moved is not empty/);
    expect(said(await merge(ADAPTER, 'new', '--dtype', 'int8'))).toMatch(
      /^2 .*--dtype is float32 or bfloat16/,
    );
  });
});
