import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { sharedFolder } from '../formats/temp-folder.test.helper.js';
import { loadModel } from '../models/index.js';
import { type Ended, grpo } from './grpo.test.helper.js';

/** Settings under which a step takes milliseconds. */
const SMALL = ['rollout.prompts=2', 'rollout.group=2', 'rollout.maxNewTokens=8', 'eval.limit=4'];
const ARITHMETIC = ['task.name=arithmetic', ...SMALL];
const CHECKPOINT = 'first/checkpoints/step-2';
const OPEN = [`model=${CHECKPOINT}`, 'task.data=open.jsonl', 'task.evalData=held.jsonl', ...SMALL];

const dir = sharedFolder();
let first: Ended;
const rows = (path: string): Record<string, unknown>[] =>
  readFileSync(join(dir, path), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
const lines = (...objects: object[]) => objects.map((object) => `${JSON.stringify(object)}\n`).join('');
const jsonl = ({ out }: Ended) =>
  out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));

const FILES = {
  'open.jsonl': lines({ question: 'good', bonus: 3 }, { question: 'bad' }),
  'held.jsonl': lines({ question: 'held', bonus: 5 }),
  'spoilt.jsonl': lines({ question: 'a', answer: 1 }, { prompt: 'b', answer: 2 }),
  'bonus.ts': `import { each } from 'grpo/rewards';
    type Row = { bonus?: number };
    export default each<Row>((completion, { bonus }) => completion.length + (bonus ?? 0));`,
  'strict.ts': `import { each } from 'grpo/rewards';
    export default each((completion, row) => {
      if (row.question === 'bad') throw new Error('no rubric');
      return completion.length;
    });`,
  'endless.ts': 'export default (): number[] => { while (true); };',
  'run.yaml': 'task: {name: arithmetic}\nseed: 5\ntrain:\n  steps: 1\n',
};

beforeAll(async () => {
  for (const [name, text] of Object.entries(FILES)) writeFileSync(join(dir, name), text);
  first = await grpo(dir, 'train', ...ARITHMETIC, 'train.steps=2', 'output=first', '--json');
}, 60_000);
describe('grpo train', () => {
  it('writes a JSON object a step and leaves the run folder', () => {
    expect(first.code, first.err).toBe(0);
    expect(jsonl(first)).toMatchObject([
      { step: 1, steps: 2 },
      { step: 2 },
      { done: true, steps: 2, output: 'first', evalAfter: { total: 4 } },
    ]);
    const { versions, seed, values } = JSON.parse(readFileSync(join(dir, 'first/config.json'), 'utf8'));
    expect(Object.keys(versions)).toEqual(['grpo', 'node', 'libtorch']);
    expect(seed).toBe(0);
    expect(values['rollout.group']).toEqual({ value: 2, source: 'command line' });
    expect(values['rollout.topP']).toEqual({ value: 1, source: 'default' });
    expect(rows('first/metrics.jsonl').map(({ step }) => step)).toEqual([1, 2]);
    const completions = rows('first/completions.jsonl').map(({ step, prompt, index }) => [
      step,
      prompt,
      index,
    ]);
    expect(completions).toEqual(
      [1, 2].flatMap((step) => [0, 1].flatMap((prompt) => [0, 1].map((index) => [step, prompt, index]))),
    );
    expect(rows('first/eval.jsonl')).toMatchObject([
      { step: 0, problems: 4 },
      { step: 2, greedy: { accuracy: expect.any(Number) } },
    ]);
    const model = loadModel(join(dir, CHECKPOINT), { dtype: 'float32' });
    expect(model.decoder.parameters.size).toBeGreaterThan(10);
    model.decoder.dispose();
  });

  it('takes settings from a YAML file, and the command line over them', async () => {
    const argv = ['--config', 'run.yaml', 'seed=6', ...SMALL, 'output=yaml', 'eval.before=false'];
    expect(await grpo(dir, 'train', ...argv)).toMatchObject({ code: 0, err: '' });
    const { values } = JSON.parse(readFileSync(join(dir, 'yaml/config.json'), 'utf8'));
    expect(values.seed).toEqual({ value: 6, source: 'command line' });
    expect(values['train.steps']).toEqual({ value: 1, source: 'run.yaml:4' });
    expect(rows('yaml/metrics.jsonl')).toHaveLength(1);
  });

  it('refuses an unknown key, and a row without the key, before anything is written', async () => {
    const unknown = await grpo(dir, 'train', ...ARITHMETIC, 'rolout.group=4', 'output=refused');
    expect(unknown).toMatchObject({ code: 2, out: '' });
    expect(unknown.err).toContain(
      'Unknown key rolout.group (command line). The nearest known key is rollout',
    );
    const data = ['task.data=spoilt.jsonl', `model=${CHECKPOINT}`];
    const spoilt = await grpo(dir, 'train', ...data, ...SMALL, 'output=refused');
    expect(spoilt).toMatchObject({ code: 1, out: '' });
    expect(spoilt.err).toContain('spoilt.jsonl:2: no key "question"; the row has prompt, answer');
    expect(existsSync(join(dir, 'refused'))).toBe(false);
  });

  it('goes on with --resume to the weights of a run that was never stopped', async () => {
    const settings = [...ARITHMETIC, 'rewards=[{module: bonus.ts}]', 'optimizer.learningRate=1e-3'];
    const model = (run: string) => readFileSync(join(dir, run, 'checkpoints/step-3/model.safetensors'));
    expect((await grpo(dir, 'train', ...settings, 'train.steps=1', 'output=parts')).code).toBe(0);
    const resumed = await grpo(dir, 'train', '--resume', 'parts', 'train.steps=3');
    expect(resumed, resumed.err).toMatchObject({ code: 0 });
    expect(resumed.out).toContain('Going on with parts after step 1.');
    expect((await grpo(dir, 'train', ...settings, 'train.steps=3', 'output=whole')).code).toBe(0);
    expect(rows('parts/metrics.jsonl').map(({ step }) => step)).toEqual([1, 2, 3]);
    for (const file of ['metrics.jsonl', 'completions.jsonl']) {
      expect(readFileSync(join(dir, 'parts', file), 'utf8')).toBe(
        readFileSync(join(dir, 'whole', file), 'utf8'),
      );
    }
    expect(model('parts').equals(model('whole'))).toBe(true);
    expect(model('parts').equals(readFileSync(join(dir, 'whole/model/model.safetensors')))).toBe(false);
  });
});

describe('a reward module', () => {
  const none = [...OPEN, 'task.grading=none', 'train.steps=1'];

  it('is all that a task without answers needs', async () => {
    const run = await grpo(dir, 'train', ...none, 'rewards=[{module: bonus.ts}]', 'output=bonus');
    expect(run, run.err).toMatchObject({ code: 0, err: '' });
    expect(run.out).toMatch(/^reward before, 1 problem: greedy \d/m);
    const completions = rows('bonus/completions.jsonl');
    expect(completions.map(({ prompt_text }) => prompt_text).sort()).toEqual(['bad', 'bad', 'good', 'good']);
    for (const { prompt_text, completion, rewards } of completions) {
      const bonus = String(completion).length + (prompt_text === 'good' ? 3 : 0);
      expect(rewards).toEqual({ bonus });
    }
    expect(rows('bonus/eval.jsonl')[0]!.greedy).toMatchObject({
      accuracy: null,
      rewards: { bonus: { mean: 13 } },
    });
  });

  it('is asked for', async () => {
    const run = await grpo(dir, 'train', ...none);
    expect(run).toMatchObject({ code: 2, out: '' });
    expect(run.err).toContain('Give rewards=[{module: FILE.ts}]');
  });

  it('that throws stops the run and names the completion, or loses only its value', async () => {
    const settings = [...none, 'rewards=[{module: strict.ts}]'];
    const stopped = await grpo(dir, 'train', ...settings, 'output=stopped');
    expect(stopped.code).toBe(1);
    expect(stopped.err).toMatch(
      /reward strict, completion \d: threw Error: no rubric \(.*strict\.ts:3:\d+\)\n {2}prompt: "bad"\n {2}completion: "/,
    );
    expect(stopped.err).toMatch(/onRewardError=drop\. .* advantage 0/);
    const dropped = await grpo(dir, 'train', ...settings, 'onRewardError=drop', 'output=dropped');
    expect(dropped, dropped.err).toMatchObject({ code: 0 });
    expect(dropped.out).toMatch(/step 1: reward strict, completion \d: threw Error: no rubric/);
    for (const { prompt_text, reward, advantage } of rows('dropped/completions.jsonl')) {
      if (prompt_text === 'bad') expect([reward, advantage]).toEqual(['NaN', 0]);
      else expect(reward).toEqual(expect.any(Number));
    }
  });

  it('with a time limit ends the run when it is passed', async () => {
    const reward = 'rewards=[{module: endless.ts, timeoutSeconds: 0.3}]';
    const run = await grpo(dir, 'train', ...none, reward, 'eval.before=false', 'output=endless');
    expect(run.code).toBe(1);
    expect(run.err).toMatch(/reward endless, completion 0: took longer than 0\.3 s/);
  });
});

describe('the other commands', () => {
  it('take a checkpoint as their model', async () => {
    const argv = [...ARITHMETIC.filter((setting) => !/prompts|group/.test(setting)), `model=${CHECKPOINT}`];
    const sft = await grpo(dir, 'sft', ...argv, 'sft.steps=1', 'sft.batchSize=2', 'output=sft');
    expect(sft, sft.err).toMatchObject({ code: 0, err: '' });
    expect(rows('sft/metrics.jsonl')).toMatchObject([{ step: 1, loss: expect.any(Number) }]);
    expect(existsSync(join(dir, 'sft/checkpoints/step-1/model.safetensors'))).toBe(true);

    const evaluated = await grpo(dir, 'eval', ...argv, 'device=cpu', '--json');
    expect(evaluated, evaluated.err).toMatchObject({
      code: 0,
      err: expect.stringMatching(/^Device: cpu \(command line\)\n/),
    });
    // The same numbers as at the end of the run that made it.
    const { step: _, ...scores } = rows('first/eval.jsonl')[1]!;
    expect(jsonl(evaluated)[0]).toMatchObject(scores);
  });

  it('generate from the prompt as it stands, or through the chat template', async () => {
    const argv = [
      `model=${CHECKPOINT}`,
      'device=cpu',
      'rollout.maxNewTokens=5',
      '--prompt',
      '47+38=',
      '--prompt',
      'é ',
    ];
    const run = await grpo(dir, 'generate', ...argv, '--json');
    expect(run, run.err).toMatchObject({ code: 0, err: 'Device: cpu (command line)\n' });
    expect(jsonl(run)).toMatchObject([
      { prompt: '47+38=', completion: expect.any(String) },
      { prompt: 'é ' },
    ]);
    const chat = await grpo(dir, 'generate', ...argv, 'task.system=');
    expect(chat).toMatchObject({ code: 1, out: '' });
    expect(chat.err).toContain('the model has no chat template');
  });
});
