import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { memory } from '@grpo/torch';
import { describe, expect, it, vi } from 'vitest';
import { recordLayer, resolveConfig, UsageError } from '../config/index.js';
import type { EvalResult } from '../evaluation/evaluate.js';
import { tempFolder } from '../formats/temp-folder.test.helper.js';
import { Abandoned } from '../progress/watch.js';
import { tinyModelFolder } from '../run/tiny-model.test.helper.js';
import { stages } from '../step/stages.js';
import { defineTask } from '../tasks/define.js';
import { evaluate, openRun, sft, train } from './run.js';

const task = defineTask({
  name: 'letters',
  rows: [...'abcdefghij'],
  prompt: (row) => `${row}:`,
  rewards: {
    even: (completion) => [...completion].filter((char) => char.charCodeAt(0) % 2 === 0).length,
    length: { batch: ({ completions }) => completions.map((text) => text.length), weight: 0 },
  },
  isCorrect: (completion, row) => completion.includes(row),
  demonstration: (row) => row.repeat(3),
});

const rollout = { prompts: 2, group: 2, maxNewTokens: 4 };
const settings = { rollout, eval: { samples: 0 }, optimizer: { learningRate: 1e-2 } };
const steps = (count: number) => ({ ...settings, train: { steps: count } });
const json = (...path: string[]) => JSON.parse(readFileSync(join(...path), 'utf8'));
const lines = (...path: string[]) =>
  readFileSync(join(...path), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));

describe('train', () => {
  it('does what the command does, with the task as it was given', async () => {
    const output = join(tempFolder(), 'run');
    const live = memory();
    const seen: number[] = [];
    const evaluations: [number, number | null][] = [];
    const end = await train({
      model: await tinyModelFolder(),
      task,
      output,
      settings: steps(2),
      onStep: (row) => seen.push(row.step),
      onEvaluation: ({ greedy }: EvalResult, step) => evaluations.push([step, greedy.accuracy]),
    });
    expect(memory()).toEqual(live);
    expect(seen).toEqual([1, 2]);
    expect(evaluations).toEqual([
      [0, expect.any(Number)],
      [2, end.after!.greedy.accuracy],
    ]);
    expect(end).toMatchObject({
      interrupted: false,
      steps: 2,
      output,
      model: `${output}/checkpoints/step-2`,
    });
    expect(existsSync(join(end.model!, 'model.safetensors'))).toBe(true);
    expect(end.before!.problems).toBe(2);

    const { values, files } = json(output, 'config.json');
    expect(values['task.name']).toEqual({ value: 'letters', source: 'in code' });
    expect(values.rewards).toEqual({
      value: [
        { name: 'even', weight: 1 },
        { name: 'length', weight: 0 },
      ],
      source: 'in code',
    });
    expect(Object.keys(values).filter((path) => path.startsWith('task.'))).toEqual(['task.name']);
    expect(values['train.steps']).toEqual({ value: 2, source: 'settings of train()' });
    expect(values.output).toEqual({ value: output, source: 'train()' });
    expect(files['the task letters']).toMatch(/^10 problems, sha256 [0-9a-f]{64}$/);
    const [row] = lines(output, 'completions.jsonl');
    expect(Object.keys(row.rewards)).toEqual(['even', 'length']);
    expect(row.reward).toBe(row.rewards.even);
  });

  it('goes on with a run, to the weights of one that was never stopped', async () => {
    const [parts, whole] = [join(tempFolder(), 'parts'), join(tempFolder(), 'whole')];
    const model = await tinyModelFolder();
    const interrupt = new AbortController();
    const stopped = await train({
      model,
      task,
      output: parts,
      settings: steps(3),
      signal: interrupt.signal,
      onStep: () => interrupt.abort(),
    });
    expect(stopped).toMatchObject({ interrupted: true, steps: 1 });
    const resumed = await train({ model, task, output: parts, resume: true });
    expect(resumed).toMatchObject({ interrupted: false, steps: 3 });
    await train({ model, task, output: whole, settings: steps(3) });
    const weights = (run: string) => readFileSync(join(run, 'checkpoints/step-3/model.safetensors'));
    expect(weights(parts).equals(weights(whole))).toBe(true);
    expect(lines(parts, 'metrics.jsonl').map(({ step }) => step)).toEqual([1, 2, 3]);

    const other = defineTask({
      name: 'others',
      rows: ['x', 'y'],
      prompt: (row) => row,
      rewards: { one: () => 1 },
    });
    await expect(train({ model, task: other, output: parts, resume: true })).rejects.toThrow(
      'holds a run of the task letters, not of others',
    );
    const regraded = { ...task, train: task.train.map((problem) => ({ ...problem, row: { other: 1 } })) };
    await expect(train({ model, task: regraded as never, output: parts, resume: true })).rejects.toThrow(
      'cannot go on: the task letters changed',
    );
    const changed = { ...task, train: task.train.slice(1) };
    await expect(train({ model, task: changed, output: parts, resume: true })).rejects.toThrow(
      'cannot go on: the task letters changed',
    );
    // The command does not have the task.
    expect(() => resolveConfig({ command: 'train', layers: [recordLayer(parts)] })).toThrow(
      `The task of the run in ${parts}, letters, is written in code`,
    );
  });

  it('takes stages of your own, and says what went wrong with the rewards', async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
    const failing = defineTask({
      name: 'failing',
      rows: ['a', 'b'],
      prompt: (row) => row,
      rewards: {
        fine: () => 1,
        broken: () => {
          throw new Error('no grader');
        },
      },
    });
    const scales: string[] = [];
    await train({
      model: await tinyModelFolder(),
      task: failing,
      output: join(tempFolder(), 'run'),
      settings: { ...steps(1), onRewardError: 'drop', advantage: { scale: 'none' } },
      stages: {
        advantage: (rewards, group, settings) => {
          scales.push(settings.scale);
          return stages.advantage(rewards, group, settings);
        },
      },
    });
    // Of the preflight, and of the step.
    expect(scales).toEqual(['none', 'none']);
    expect(warn.mock.calls.flat().join('\n')).toMatch(/reward broken, completion 0: threw Error: no grader/);
    warn.mockRestore();
  });

  it('holds a loss and stages of your own to what they are', async () => {
    const trainWith = async (stages: object) =>
      train({
        model: await tinyModelFolder(),
        task,
        output: join(tempFolder(), 'run'),
        settings: steps(1),
        stages,
      });
    await expect(trainWith({ objective: () => ({ loss: 1 }) })).rejects.toThrow(
      "stages.objective returned no tensor 'loss'",
    );
    await expect(trainWith({ advantage: 3 })).rejects.toThrow('the stage advantage is a function; found "3"');
  });

  it('trains on rows that JSON cannot hold', async () => {
    interface Node {
      word: string;
      id: bigint;
      parent?: Node;
    }
    const root: Node = { word: 'r', id: 0n };
    const rows = ['a', 'b', 'c'].map((word, i): Node => ({ word, id: BigInt(i), parent: root }));
    root.parent = root;
    const tree = defineTask({
      name: 'tree',
      rows,
      prompt: ({ word }) => word,
      rewards: { length: (text) => text.length },
    });
    const output = join(tempFolder(), 'run');
    await train({ model: await tinyModelFolder(), task: tree, output, settings: steps(1) });
    const { prompts } = JSON.parse(readFileSync(join(output, 'steps/000001/step.json'), 'utf8'));
    expect(prompts.rows[0]).toMatchObject({ id: expect.stringMatching(/^[012]$/), parent: { id: '0' } });
  });

  it('refuses what it does not know before it begins', async () => {
    const output = join(tempFolder(), 'run');
    const refused = (changes: object) =>
      expect(train({ model: 'models/none', task, output, ...changes } as Parameters<typeof train>[0]))
        .rejects;
    await refused({ settings: { rolout: {} } }).toThrow(
      'Unknown key rolout (settings of train()). The nearest',
    );
    await refused({ settings: { rollout: { group: 1 } } }).toThrow(
      'rollout.group: expected a whole number >= 2, found 1 (settings of train())',
    );
    await refused({ settings: { task: { system: 'x' } } }).toThrow(
      'train() does not read task.system (settings of train())',
    );
    await refused({ settings: { output: 'x' } }).toThrow('train() does not read output');
    await refused({ settings: { sft: { steps: 1 } } }).toThrow('train() does not read sft.steps');
    await refused({ onstep: () => {} }).toThrow(
      'train() has no option onstep. The nearest known one is onStep.',
    );
    await refused({ task: { name: 'x' } }).toThrow('train() needs a task: what defineTask() returned');
    await refused({ task: { ...task, rewards: [] } }).toThrow('task letters has no reward with a weight');
    await refused({ output: undefined, resume: true }).toThrow(UsageError);
    await refused({ model: undefined }).toThrow('no model');
    await refused({}).toThrow('no model models/none');
    expect(existsSync(output)).toBe(false);
  });
});

it('sft imitates the demonstrations', async () => {
  const options = { model: await tinyModelFolder(), task, settings: { ...settings, sft: { steps: 1 } } };
  // Its learning rate is in its own section.
  // @ts-expect-error and TypeScript knows
  await expect(sft({ ...options, output: join(tempFolder(), 'run') })).rejects.toThrow(
    'sft() does not read optimizer.learningRate',
  );
  const output = join(tempFolder(), 'run');
  const taught = {
    rollout: { maxNewTokens: 4 },
    sft: { steps: 40, learningRate: 1e-2 },
    eval: { samples: 0 },
  };
  const { before, after } = await sft({ ...options, output, settings: taught });
  expect(lines(output, 'metrics.jsonl')).toHaveLength(40);
  expect(before!.greedy.rewards.even).not.toBe(after!.greedy.rewards.even);
  expect(lines(output, 'metrics.jsonl').at(-1).loss).toBeLessThan(lines(output, 'metrics.jsonl')[0].loss / 2);
});

it('evaluate measures a model as a run does', async () => {
  const model = await tinyModelFolder();
  const live = memory();
  const evaluation = { rollout: { maxNewTokens: 4 }, eval: { samples: 0 } };
  const { before } = await train({ model, task, output: join(tempFolder(), 'run'), settings: steps(1) });
  const { audit, ...measured } = await evaluate({ model, task, settings: evaluation });
  expect(measured).toEqual(before);
  expect(audit).toMatchObject({ findings: [], missing: [] });
  expect(memory()).toEqual(live);
  await expect(evaluate({ model, task, settings: { eval: { every: 3 } } } as never)).rejects.toThrow(
    'evaluate() does not read eval.every',
  );
});

it('evaluate tells how far it is, and a signal ends it', async () => {
  const model = await tinyModelFolder();
  const live = memory();
  const interrupt = new AbortController();
  const stages = new Set<string>();
  const evaluation = evaluate({
    model,
    task,
    settings: { rollout: { maxNewTokens: 4 }, eval: { samples: 0 } },
    signal: interrupt.signal,
    onProgress: ({ stage, done }) => {
      stages.add(stage);
      if (stage === 'evaluation' && done > 0) interrupt.abort();
    },
  });
  await expect(evaluation).rejects.toThrow(Abandoned);
  expect([...stages]).toEqual(['loading the model', 'evaluation']);
  expect(memory()).toEqual(live);
});

it('an open run frees what it holds', async () => {
  const options = { model: await tinyModelFolder(), task, output: join(tempFolder(), 'run'), settings };
  const live = memory();
  const session = await openRun(options);
  expect(memory().tensors).toBeGreaterThan(live.tensors);
  await session[Symbol.asyncDispose]();
  expect(memory()).toEqual(live);
});
