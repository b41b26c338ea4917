import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { memory } from '@grpo/torch';
import { describe, expect, it, onTestFinished } from 'vitest';
import { DEVICE } from '../device.test.helper.js';
import { tempFolder } from '../formats/temp-folder.test.helper.js';
import { train } from '../library/run.js';
import { loadSequenceClassifier } from '../models/index.js';
import { scoreCompletions } from '../rewards/index.js';
import { defineTask } from '../tasks/define.js';
import type { Prompt } from '../text/message.js';
import { type RewardModelOptions, rewardModel } from './reward-model.js';
import { tinyModelFolder } from './tiny-model.test.helper.js';

const fixture = (name: string) =>
  fileURLToPath(new URL(`../../../../parity/fixtures/reward-models/${name}`, import.meta.url));

interface Expected {
  cases: { prompt: Prompt; completion: string; ids: number[] }[];
  float32: number[];
}

const expectedOf = (name: string) =>
  JSON.parse(readFileSync(join(fixture(name), 'expected.json'), 'utf8')) as Expected;

function open(name: string, options: RewardModelOptions = {}) {
  const model = rewardModel(fixture(name), { device: DEVICE, ...options });
  onTestFinished(() => model[Symbol.dispose]());
  return model;
}

const batchOf = (cases: readonly { prompt: Prompt; completion: string }[]) => ({
  prompts: cases.map(({ prompt }) => prompt),
  completions: cases.map(({ completion }) => completion),
  rows: cases.map(() => ({})),
});

describe.each(['gpt2', 'llama3', 'qwen2', 'qwen3'])('a reward model of %s', (name) => {
  const { cases, float32 } = expectedOf(name);

  it.each([8192, 40, 1])(
    'scores prompts with completions as transformers, %i tokens at once',
    async (microBatchTokens) => {
      const values = (await open(name, { microBatchTokens })(batchOf(cases))) as number[];
      expect(values).toHaveLength(float32.length);
      for (const [i, value] of values.entries())
        expect(Math.abs(value - float32[i]!), cases[i]!.completion).toBeLessThan(2e-5);
    },
  );

  it('reads texts as its own tokenizer does', () => {
    using model = loadSequenceClassifier(fixture(name), { device: DEVICE });
    for (const { prompt, completion, ids } of cases.filter(
      (one) => !model.template || typeof one.prompt !== 'string',
    )) {
      const text = model.template
        ? model.template.render(
            [...(prompt as Exclude<Prompt, string>), { role: 'assistant', content: completion }],
            {
              addGenerationPrompt: false,
              namedTokens: model.tokenizer.namedTokens,
            },
          )
        : (prompt as string) + completion;
      expect(model.tokenizer.encode(text)).toEqual(ids);
    }
  });
});

describe('a reward model', () => {
  const judged = async (name: string, cases: readonly { prompt: Prompt; completion: string }[]) =>
    scoreCompletions([{ name: 'judge', weight: 1, score: open(name) }], batchOf(cases), { onError: 'drop' });

  it('gives the same score whatever else is in the batch', async () => {
    const score = open('qwen2');
    const { cases } = expectedOf('qwen2');
    const all = (await score(batchOf(cases))) as number[];
    const backwards = (await score(batchOf([...cases].reverse()))) as number[];
    for (const [i, value] of all.entries()) expect(backwards[cases.length - 1 - i]).toBeCloseTo(value, 5);
  });

  it('loses what is longer than its window, or has no token, alone', async () => {
    const long = { prompt: 'a', completion: 'b'.repeat(128) };
    const table = await judged('gpt2', [
      { prompt: 'a', completion: 'b' },
      long,
      { prompt: '', completion: '' },
    ]);
    expect(table.failures.map(({ index, affected, reason }) => [index, affected, reason])).toEqual([
      [
        1,
        1,
        expect.stringMatching(/^has 129 tokens with its prompt; the reward model .*gpt2 takes 1 to 128$/),
      ],
      [2, 1, expect.stringMatching(/^has no tokens; the reward model/)],
    ]);
    expect(Number.isFinite(table.columns[0]![0])).toBe(true);
  });

  it('without a template refuses conversations', async () => {
    const table = await judged('gpt2', [{ prompt: [{ role: 'user', content: 'a' }], completion: 'b' }]);
    expect(table.failures[0]!.reason).toMatch(/has no chat template, and the prompt is a conversation$/);
  });
});

it('trains 20 steps on the scores of a tiny one', async () => {
  const before = memory().tensors;
  const output = join(tempFolder(), 'run');
  {
    using score = rewardModel(fixture('qwen3'));
    const task = defineTask({
      name: 'judged',
      rows: ['ab', 'cd', 'ef', 'gh'],
      prompt: (row) => row,
      rewards: { judge: { batch: score } },
      evalSize: 1,
    });
    const rewards: number[] = [];
    const losses: number[] = [];
    await train({
      model: await tinyModelFolder(),
      task,
      output,
      settings: {
        train: { steps: 20 },
        rollout: { prompts: 3, group: 8, maxNewTokens: 6 },
        optimizer: { learningRate: 0.02 },
        eval: { before: false, limit: 1 },
        threads: 1,
      },
      onNote: () => undefined,
      onStep(row) {
        rewards.push(row.reward!);
        losses.push(row.loss!);
        expect(row.reward_failures).toBe(0);
      },
    });
    expect(losses).toHaveLength(20);
    expect(losses.every(Number.isFinite)).toBe(true);
    const mean = (values: number[]) => values.reduce((a, b) => a + b, 0) / values.length;
    expect(mean(rewards.slice(-5))).toBeGreaterThan(mean(rewards.slice(0, 5)) + 0.2);
    // What was recorded is what the model says of these texts.
    const lines = readFileSync(join(output, 'completions.jsonl'), 'utf8').trim().split('\n');
    const rows = lines.map(
      (line) => JSON.parse(line) as { prompt_text: string; completion: string; rewards: { judge: number } },
    );
    const some = rows.filter((_, i) => i % 17 === 0);
    const values = await score(
      batchOf(some.map(({ prompt_text, completion }) => ({ prompt: prompt_text, completion }))),
    );
    for (const [i, { rewards: own }] of some.entries()) expect(own.judge).toBeCloseTo(values[i] as number, 5);
  }
  expect(memory().tensors).toBe(before);
}, 60_000);
