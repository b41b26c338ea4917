import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { resolveConfig } from '../../config/index.js';
import { sharedFolder } from '../../formats/temp-folder.test.helper.js';
import { r1ZeroReward } from '../../rewards/math/graders.js';
import { totals } from '../../rewards/reward-table.js';
import { scoreCompletions } from '../../rewards/score.js';
import { openRun } from '../../run/open-run.js';
import { tinyModelFolder } from '../../run/tiny-model.test.helper.js';
import { trainGrpo } from '../../run/train-grpo.js';
import { trainSft } from '../../run/train-sft.js';
import { type JsonlOptions, jsonlTask } from './task.js';

const dir = sharedFolder();
const HALF = {
  question: 'What is 2/4?',
  solution: 'It is\n$\\boxed{\\frac{1}{2}}$.',
  answer: '\\frac{1}{2}',
};

function file(...rows: object[]): string {
  const path = join(dir, 'math.jsonl');
  writeFileSync(path, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  return path;
}
const load = (grading: JsonlOptions['grading'], more: Partial<JsonlOptions> = {}) =>
  jsonlTask({
    data: more.data ?? file(HALF),
    evalSize: 0,
    grading,
    questionKey: 'question',
    answerKey: 'answer',
    system: more.system,
  });

/** Totals of completions, and the parts and the rule of the first reward. */
async function graded(grading: JsonlOptions['grading'], ...completions: string[]) {
  const task = await load(grading);
  const [{ prompt, row }] = task.train as [(typeof task.train)[0]];
  const batch = {
    prompts: completions.map(() => prompt),
    completions,
    rows: completions.map(() => row),
  };
  const total = totals(await scoreCompletions(task.rewards, batch, { onError: 'stop' }));
  const verdicts = await task.rewards[0]!.score(batch);
  expect(completions.map((text) => task.isCorrect!(text, row))).toEqual(
    [...total].map((value) => value >= 1),
  );
  return { total: [...total], verdicts };
}

describe('task.grading', () => {
  it('r1_zero asks in the shape of its prompt, opened and without a newline at the end', async () => {
    const { train, stop } = await load('r1_zero');
    expect(train[0]!.prompt).toMatch(/^[^\n]+\nUser: What is 2\/4\?\nAssistant: <think>$/);
    expect(train[0]!.demonstration).toMatch(/^It is\n.*<\/think> <answer>\\frac\{1\}\{2\}<\/answer>$/s);
    expect(stop).toEqual(['</answer>']);
    const chat = await load('r1_zero', { system: '' });
    expect(chat.train[0]!.prompt).toEqual([
      { role: 'user', content: expect.stringMatching(/\nUser: What is 2\/4\?$/) },
    ]);
    expect(chat.train[0]!.demonstration).toMatch(/^<think>It is/);
  });

  it('r1_zero gives 1 for a right answer in the format, and its grounds', async () => {
    const { total, verdicts } = await graded(
      'r1_zero',
      'so</think> <answer>0.5</answer>',
      'so</think> <answer>2/4</answer>',
      'so</think><answer>0.5</answer>',
    );
    expect(total).toEqual([1, 0, 0]);
    expect(verdicts).toEqual([
      { value: 1, parts: { format_reward: 1, answer_reward: 1 }, rule: 'same text' },
      { value: 0, parts: { format_reward: 1, answer_reward: 0 }, rule: 'fraction not reduced' },
      { value: 0, parts: { format_reward: 0, answer_reward: 0 }, rule: 'no </think> <answer>' },
    ]);
  });

  it('question_only asks the bare question and grades the box', async () => {
    const { train, stop } = await load('question_only');
    expect(train[0]).toMatchObject({ prompt: HALF.question, demonstration: HALF.solution });
    expect(stop).toEqual([]);
    const { total } = await graded('question_only', HALF.solution, '0.5', '\\boxed{2}');
    expect(total).toEqual([1, 0, 0]);
    const gsm = file({ question: 'a', answer: 'One and one.\n#### 2' });
    expect((await load('question_only', { data: gsm })).train[0]!.demonstration).toBe(
      'One and one.\nThe answer is \\boxed{2}.',
    );
  });

  it('math compares any answer in think/answer format', async () => {
    const { train } = await load('math');
    expect(train[0]!.prompt).toMatch(/in LaTeX .*Problem: What is 2\/4\?\n\nSolution: <think>$/s);
    const { total, verdicts } = await graded(
      'math',
      'so</think><answer>\\frac{2}{4}</answer>',
      'so</think><answer>0.51</answer>',
      '0.5',
    );
    expect(total).toEqual([1.1, 0.1, 0]);
    expect(verdicts).toMatchObject([{ rule: 'same number' }, { rule: 'different' }, { rule: 'no </think>' }]);
  });

  it('refuses an answer that is too long to be compared, and names its line', async () => {
    const data = file(HALF, { question: 'b', answer: 'x+'.repeat(3000) });
    for (const grading of ['math', 'r1_zero', 'question_only'] as const)
      await expect(load(grading, { data })).rejects.toThrow(
        `${data}:2: answer has 6000 characters, more than the 4096 of an answer that is compared`,
      );
  });
});

const numbers = (from: number, count: number) =>
  Array.from({ length: count }, (_, i) => ({
    question: `${from + i}`,
    answer: `a\n#### ${1 + (i % 2)}`,
  }));

describe.each(['r1_zero', 'question_only', 'math'] as const)('20 steps of %s', (grading) => {
  it('train on the rewards of the grader', async () => {
    const folder = mkdtempSync(join(dir, 'run-'));
    const write = (name: string, rows: object[]) => {
      writeFileSync(join(folder, name), rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
      return join(folder, name);
    };
    const common = [
      `task.data=${write('train.jsonl', numbers(0, 8))}`,
      `task.evalData=${write('held.jsonl', numbers(10, 2))}`,
      `task.grading=${grading}`,
      `task.prompt=${join(folder, 'prompt.txt')}`,
      'eval.before=false',
      'threads=1',
      'device=cpu',
    ];
    writeFileSync(
      join(folder, 'prompt.txt'),
      grading === 'question_only' ? '{question}' : '{question}<think>',
    );
    const session = (command: 'sft' | 'train', ...settings: string[]) =>
      openRun(resolveConfig({ command, settings: [...common, ...settings], env: {} }));

    // First the format, so that some completions are right and some wrong.
    const taught = join(folder, 'sft');
    {
      await using sft = await session(
        'sft',
        `model=${await tinyModelFolder()}`,
        `output=${taught}`,
        'sft.steps=80',
        'sft.batchSize=8',
        'sft.learningRate=0.02',
      );
      await trainSft(sft);
    }
    const output = join(folder, 'grpo');
    {
      await using run = await session(
        'train',
        `model=${taught}/checkpoints/step-80`,
        `output=${output}`,
        'train.steps=20',
        'rollout.prompts=2',
        'rollout.group=4',
        'rollout.maxNewTokens=48',
      );
      await trainGrpo(run);
    }
    const rows = (name: string) =>
      readFileSync(join(output, name), 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
    const metrics = rows('metrics.jsonl');
    expect(metrics).toHaveLength(20);
    expect(metrics.every(({ loss, grad_norm }) => Number.isFinite(loss) && Number.isFinite(grad_norm))).toBe(
      true,
    );
    const completions = rows('completions.jsonl');
    expect(completions).toHaveLength(160);
    expect(completions.every(({ reward }) => typeof reward === 'number')).toBe(true);
    // Something was there to learn from.
    expect(new Set(completions.map(({ reward }) => reward)).size).toBeGreaterThan(1);
    if (grading !== 'r1_zero') return;
    for (const { prompt_text, completion, reward, reward_parts, reward_rules } of completions) {
      const gold = 1 + (Number.parseInt(prompt_text, 10) % 2);
      const verdict = r1ZeroReward(completion, gold);
      expect({ reward, reward_parts, reward_rules }).toEqual({
        reward: verdict.value,
        reward_parts: { r1_zero: verdict.parts },
        reward_rules: { r1_zero: verdict.rule },
      });
    }
  });
});
