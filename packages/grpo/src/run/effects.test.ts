import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { tempFolder } from '../formats/temp-folder.test.helper.js';
import { stages } from '../step/stages.js';
import { remainsOf, run, withoutCounts } from './run.test.helper.js';
import { tinyModelFolder } from './tiny-model.test.helper.js';

const linesOf = (folder: string, file: string) =>
  readFileSync(join(folder, file), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));

/** Rows and weights of a run that ended after a step, without what the process measured. */
const left = (folder: string, step: number) => [
  withoutCounts(readFileSync(join(folder, 'metrics.jsonl'), 'utf8')),
  ...['completions.jsonl', 'eval.jsonl', `checkpoints/step-${step}/model.safetensors`].map((file) =>
    readFileSync(join(folder, file)).toString('base64'),
  ),
];

it('ends at an evaluated reward, and a resumed run ends there, too', async () => {
  const reward = join(tempFolder(), 'even.mjs');
  const share = '[...text].filter((c) => c.charCodeAt(0) % 2 === 0).length / text.length';
  writeFileSync(reward, `export default ({ completions }) => completions.map((text) => ${share} || 0);`);
  const settings = [
    `model=${await tinyModelFolder()}`,
    `rewards=[{module: ${reward}}]`,
    'optimizer.learningRate=0.02',
    'rollout.prompts=4',
    'rollout.group=8',
    'task.evalSize=8',
    'eval.limit=8',
    'train.steps=12',
    'eval.every=2',
    'eval.samples=0',
  ];
  const [plain, stopped, resumed] = ['plain', 'stopped', 'resumed'].map((name) => join(tempFolder(), name));
  const own = { score: stages.score };
  await run({ output: plain!, settings, stages: own });
  const evaluated = linesOf(plain!, 'eval.jsonl').map(({ step, greedy }) => ({
    step,
    reward: greedy.reward,
  }));
  const best = Math.max(...evaluated.slice(1, -1).map(({ reward }) => reward));
  const first = evaluated.find(({ reward }) => reward >= best)!;
  expect(first.step).toBeGreaterThan(0);
  expect(first.step).toBeLessThan(12);

  const stopAt = [...settings, `eval.stopAt=${best}`];
  const { end, rows, notes } = await run({ output: stopped!, stages: own, settings: stopAt });
  expect(rows).toHaveLength(first.step);
  expect(end).toMatchObject({ interrupted: false, after: { greedy: { reward: best } } });
  expect(notes.join('\n')).toContain('reaches eval.stopAt');

  await run({ output: resumed!, stages: own, settings: stopAt, stopAfter: first.step - 1 });
  await run({ output: resumed!, stages: own, settings: stopAt, resume: true });
  expect(left(resumed!, first.step)).toEqual(left(stopped!, first.step));
  const again = await run({ output: resumed!, stages: own, settings: stopAt, resume: true });
  expect(again.rows).toEqual([]);
});

it('repeats the problems of the first step, also after a resume, with other draws', async () => {
  const settings = [
    `model=${await tinyModelFolder()}`,
    'train.repeatBatch=true',
    'rollout.temperature=1',
    'eval.before=false',
    'doctor.onFinding=stop',
  ];
  const [whole, resumed] = ['whole', 'resumed'].map((name) => join(tempFolder(), name));
  const { end } = await run({ output: whole!, settings });
  expect(end.stopped).toBeUndefined();
  const rows = linesOf(whole!, 'completions.jsonl') as {
    step: number;
    prompt_text: string;
    completion: string;
  }[];
  const of = (step: number, field: 'prompt_text' | 'completion') =>
    rows.filter((row) => row.step === step).map((row) => row[field]);
  for (const step of [2, 3, 8]) {
    expect(of(step, 'prompt_text')).toEqual(of(1, 'prompt_text'));
    expect(of(step, 'completion')).not.toEqual(of(1, 'completion'));
  }
  await run({ output: resumed!, settings, stopAfter: 2 });
  await run({ output: resumed!, settings, resume: true });
  expect(remainsOf(resumed!)).toEqual(remainsOf(whole!));
});
