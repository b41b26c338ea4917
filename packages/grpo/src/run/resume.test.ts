import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../formats/temp-folder.test.helper.js';
import { type RunOptions, remainsOf, run, stepsOf } from './run.test.helper.js';
import { tinyModelFolder } from './tiny-model.test.helper.js';

const FREQUENT = [
  'checkpoint.every=3',
  'eval.every=3',
  'optimizer.schedule=cosine',
  'optimizer.warmupSteps=2',
];

const GRPO = [
  'optimizer.learningRate=0.01',
  'kl.beta=0.05',
  'objective.iterations=2',
  'objective.oldLogprobs=recompute',
  'train.microBatchTokens=30',
];

type Case = [string, Omit<RunOptions, 'output'>];

const cases: Case[] = [
  ['GRPO with a reference and two passes', { settings: GRPO }],
  [
    'GRPO of two minibatches in bfloat16',
    { settings: [...GRPO, 'objective.minibatches=2', 'dtype=bfloat16'] },
  ],
  [
    'GRPO with a β and an entropy bonus that are controlled',
    {
      settings: [
        ...GRPO,
        ...['kl.warmupSteps=2', 'kl.control=lagrangian', 'kl.target=0.001', 'kl.window=3', 'kl.rate=10'],
        ...['entropy.adaptive=true', 'entropy.target=3'],
      ],
    },
  ],
  ...['float32', 'bfloat16'].map(
    (dtype): Case => [
      `GRPO with a reference that moves, in ${dtype}`,
      { settings: [...GRPO, 'kl.referenceEvery=3', 'kl.referenceMix=0.1', `dtype=${dtype}`] },
    ],
  ),
  ['GRPO of adapters with a reference', { settings: [...GRPO, 'lora.rank=2', 'dtype=bfloat16'] }],
  [
    'GRPO of adapters with a reference that moves',
    { settings: [...GRPO, 'lora.rank=2', 'kl.referenceEvery=3', 'kl.referenceMix=1'] },
  ],
  // One micro-batch holds a demonstration, so each step accumulates three.
  ['SFT', { command: 'sft', settings: ['sft.learningRate=0.01', 'train.microBatchTokens=30'] }],
  [
    'expert iteration of two epochs',
    { command: 'expert', settings: ['expert.threshold=0.5', 'expert.epochs=2', 'sft.learningRate=0.01'] },
  ],
  [
    'expert iteration of adapters with dropout',
    {
      command: 'expert',
      settings: ['expert.threshold=0.5', 'sft.learningRate=0.1', 'lora.rank=2', 'lora.dropout=0.3'],
    },
  ],
  [
    'SFT of adapters with dropout',
    { command: 'sft', settings: ['sft.learningRate=0.1', 'lora.rank=2', 'lora.dropout=0.3'] },
  ],
  ['SFT in bfloat16', { command: 'sft', settings: ['sft.learningRate=0.01', 'dtype=bfloat16'] }],
];

describe.each(cases)('%s', (_, { command = 'train', settings }) => {
  it('crashed, stopped and resumed is the run that was never stopped', async () => {
    const root = tempFolder();
    const model = await tinyModelFolder();
    const at = (name: string) => ({
      command,
      output: join(root, name),
      settings: [
        ...settings,
        ...FREQUENT,
        ...(command === 'train' ? ['record.every=1'] : []),
        `model=${model}`,
      ],
    });
    const whole = await run(at('whole'));
    expect(whole.end).toMatchObject({ interrupted: false, before: { problems: 2 }, after: { problems: 2 } });

    await expect(run({ ...at('broken'), crashAfter: 5 })).rejects.toThrow('the lights went out');
    // From the last checkpoint: steps 4 and 5 are done again.
    const again = await run({ ...at('broken'), resume: true, stopAfter: 6 });
    expect(again.rows.map(({ step }) => step)).toEqual([4, 5, 6]);
    expect(again.end).toMatchObject({ interrupted: true, after: undefined });
    const rest = await run({ ...at('broken'), resume: true });
    expect(rest.rows.map(({ step }) => step)).toEqual([7, 8]);

    const expected = remainsOf(join(root, 'whole'));
    expect(stepsOf(expected.metrics)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    expect(stepsOf(expected.evaluations)).toEqual([0, 3, 6, 8]);
    expect(expected.completions !== '').toBe(command !== 'sft');
    expect(remainsOf(join(root, 'broken'))).toEqual(expected);
    const timings = readFileSync(join(root, 'broken', 'timings.jsonl'), 'utf8');
    expect(stepsOf(timings)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  });
});

describe('a run with a model of its own making', () => {
  it('resumes with the reference that it began with', async () => {
    const root = tempFolder();
    const at = (name: string) => ({ output: join(root, name), settings: GRPO });
    await run(at('whole'));
    await run({ ...at('stopped'), stopAfter: 2 });
    await run({ ...at('stopped'), resume: true });
    expect(remainsOf(join(root, 'stopped'))).toEqual(remainsOf(join(root, 'whole')));
  });
});

describe('a run that crashes before its first checkpoint', () => {
  it('starts over when it is resumed and told so', async () => {
    const root = tempFolder();
    const model = await tinyModelFolder();
    const at = (name: string) => ({ output: join(root, name), settings: [...GRPO, `model=${model}`] });
    await run(at('whole'));
    await expect(run({ ...at('crashed'), crashAfter: 2 })).rejects.toThrow('the lights went out');
    const before = readFileSync(join(root, 'crashed/metrics.jsonl'), 'utf8');
    await expect(run({ ...at('crashed'), resume: true })).rejects.toMatchObject({
      message: expect.stringContaining('it would start over, and the rows of its 2 steps would be lost'),
      hint: expect.stringContaining('--restart'),
    });
    expect(readFileSync(join(root, 'crashed/metrics.jsonl'), 'utf8')).toBe(before);
    const notes: string[] = [];
    const note = (text: string) => notes.push(text);
    const { rows } = await run({ ...at('crashed'), resume: true, restart: true, note });
    expect(rows[0]?.step).toBe(1);
    expect(notes[0]).toBe(`${join(root, 'crashed')} has no checkpoint: the run starts over.`);
    expect(remainsOf(join(root, 'crashed'))).toEqual(remainsOf(join(root, 'whole')));
  });
});

describe('a run that dies in an evaluation', () => {
  it.each([0, 3, 8])('after step %i does no step twice, and evaluates once', async (step) => {
    const root = tempFolder();
    const model = await tinyModelFolder();
    const at = (name: string) => ({
      output: join(root, name),
      settings: [...GRPO, 'checkpoint.every=3', 'eval.every=3', `model=${model}`],
    });
    await run(at('whole'));
    await expect(run({ ...at('died'), dieInEvaluation: step })).rejects.toThrow('the lights went out');
    const { end, rows } = await run({ ...at('died'), resume: true });
    expect(rows.map((row) => row.step)).toEqual([1, 2, 3, 4, 5, 6, 7, 8].slice(step));
    expect(end).toMatchObject({ interrupted: false, after: { problems: 2 } });
    expect(remainsOf(join(root, 'died'))).toEqual(remainsOf(join(root, 'whole')));
  });

  it('and one that is whole is not evaluated again', async () => {
    const options = { output: join(tempFolder(), 'run'), settings: [`model=${await tinyModelFolder()}`] };
    await run(options);
    const before = remainsOf(options.output);
    const { end, rows } = await run({ ...options, resume: true });
    expect([end, rows]).toEqual([{ interrupted: false }, []]);
    expect(remainsOf(options.output)).toEqual(before);
  });
});

describe('two runs', () => {
  it('with one seed are equal byte for byte, with two seeds are not', async () => {
    const root = tempFolder();
    const model = await tinyModelFolder();
    const remains = [];
    for (const [i, seed] of [1, 1, 2].entries()) {
      const output = join(root, String(i));
      await run({ output, settings: [...GRPO, `model=${model}`, `seed=${seed}`] });
      remains.push(remainsOf(output));
    }
    const [one, same, other] = remains;
    expect(same).toEqual(one);
    expect(other!.completions).not.toEqual(one!.completions);
    expect(other!.weights).not.toEqual(one!.weights);
  });
});
