import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { memory } from '@grpo/torch';
import { describe, expect, it } from 'vitest';
import { loadModel } from '../models/index.js';
import { plainSampling } from './completion.js';
import { sample } from './sampler.js';

const fixture = (name: string) =>
  fileURLToPath(new URL(`../../../../parity/fixtures/models/${name}`, import.meta.url));
const expectedOf = (name: string) =>
  JSON.parse(readFileSync(`${fixture(name)}/expected.json`, 'utf8')) as {
    prompts: number[][];
    greedy: number[][];
  };

const architectures = ['gpt2', 'llama3', 'llama3-tied', 'qwen2', 'qwen2-untied', 'qwen3'];

describe.each(architectures)('%s', (name) => {
  it('decodes greedily as transformers does, prompts of unequal length in one batch', async () => {
    const model = { ...loadModel(fixture(name)), endIds: new Set<number>() };
    const { prompts, greedy } = expectedOf(name);
    const requests = prompts.map((ids, i) => ({ ids, count: 1 + (i % 2), keys: [i] }));
    const options = { ...plainSampling, temperature: 0, maxNewTokens: 64 };
    const before = memory().tensors;
    const groups = await sample(model, requests, options, 0);
    expect(groups.map((g) => g.length)).toEqual([1, 2, 1, 2]);
    for (const [i, group] of groups.entries()) for (const c of group) expect(c.ids).toEqual(greedy[i]);
    expect(memory().tensors).toBeLessThanOrEqual(before + 2);
  });
});
