import { expect, it } from 'vitest';
import { type Config, configSchema } from '../config/schema.js';
import { endIdsOf, readModelFolder } from '../models/folder/folder.js';
import { asPrompt } from '../tasks/prompt.js';
import type { Problem } from '../tasks/task.js';
import { renderPrompt } from '../text/render.js';
import { inspectModel } from './inspect-model.js';
import { inspectPrompts } from './inspect-prompts.js';
import { DATED, inspectedFolders, OPEN, TURNS } from './inspection.test.helper.js';
import { type InspectedRun, promptsOf } from './run-checks.js';
import type { TemplateRow } from './template-rows.js';

const { folder } = inspectedFolders();

const problem = (question: string, demonstration?: string): Problem => ({
  prompt: asPrompt(question, ''),
  row: {},
  ...(demonstration !== undefined && { demonstration }),
});

const runOf = (train: Problem[], stop: string[] = [], maxNewTokens = 16): InspectedRun => ({
  task: { name: 'sums', train, eval: [problem('9+9')], stop },
  config: configSchema.parse({ rollout: { maxNewTokens } }) as Config,
});

const checkOf = (name: string, run: InspectedRun) =>
  inspectModel(folder('llama3', `${TURNS}${OPEN}`), { run }).checks.find((check) => check.name === name)!;

it('shows the first rows of the run, and those held out', () => {
  const run = runOf(Array.from({ length: 9 }, (_, i) => problem(`${i}+1`)));
  const { rows } = inspectModel(folder('llama3', DATED), { run });
  expect(rows.map(({ name }) => name)).toEqual([
    ...[1, 2, 3, 4, 5, 6].map((i) => `training row ${i}`),
    'held-out row 1',
  ]);
});

it('warns of a prompt that leaves less room than rollout.maxNewTokens', () => {
  const dir = folder('llama3', `${TURNS}${OPEN}`);
  const { tokenizer, template, config } = readModelFolder(dir);
  const long = problem('1+1 '.repeat(20));
  const { length } = renderPrompt(tokenizer, template, long.prompt).ids;
  const room = config.maxPositions - length;
  const run = (limit: number) => runOf([problem('1+1'), long], [], limit);
  expect(checkOf('lengths', run(room))).toMatchObject({ verdict: 'pass' });
  const { verdict, says } = checkOf('lengths', run(room + 1));
  expect({ verdict, says }).toEqual({
    verdict: 'warn',
    says: `The longest prompt has ${length} ids of the context's ${config.maxPositions}: its completions are cut after ${room} tokens, those of the shortest after ${room + 1}.`,
  });
  // No prompt has room for so many: nothing is cut earlier than the rest.
  expect(checkOf('lengths', run(config.maxPositions))).toMatchObject({ verdict: 'inform' });
});

it('warns of a stop string inside of an answer', () => {
  const stop = ['</answer>'];
  const ended = '<answer>2</answer>';
  expect(checkOf('stop strings', runOf([problem('1+1', ended)], stop))).toMatchObject({ verdict: 'pass' });
  const twice = runOf([problem('1+1', `${ended} or ${ended}`), problem('1+2', ended)], stop);
  expect(checkOf('stop strings', twice)).toMatchObject({ verdict: 'warn' });
  expect(checkOf('stop strings', twice).says).toMatch(/cut 1 of 2 demonstrations/);
  const unended = runOf([problem('1+1', 'two')], stop);
  expect(checkOf('stop strings', unended)).toMatchObject({ verdict: 'inform' });
  expect(checkOf('stop strings', runOf([problem('1+1')], stop))).toMatchObject({ verdict: 'not applicable' });
});

it('fails a render stage with other ids than SFT has, and asks nothing else of it', () => {
  const model = readModelFolder(folder('llama3', `${TURNS}${OPEN}`));
  const renderer = { ...model, endIds: endIdsOf(model) };
  const prompts = promptsOf(runOf([problem('1+1')]).task);
  const found = (render?: Parameters<typeof inspectPrompts>[2]) => {
    const { rows, checks } = inspectPrompts(renderer, prompts, render);
    return { row: rows[0], findings: checks.filter(({ verdict }) => /warn|fail/.test(verdict)) };
  };
  const standard = found();
  expect(standard.findings).toEqual([]);
  const bare = found(({ prompt }) => renderPrompt(model.tokenizer, model.template, JSON.stringify(prompt)));
  expect(bare.findings.map(({ name }) => name)).toEqual(['same ids in SFT, training and evaluation']);
  const { ids } = standard.row as TemplateRow;
  expect(bare.row).toMatchObject({ sftIds: ids, evaluationIds: ids });
  expect((bare.row as TemplateRow).ids).not.toEqual(ids);
});
