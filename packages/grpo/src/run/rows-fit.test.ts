import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type ResolvedConfig, resolveConfig } from '../config/index.js';
import { tempFolder } from '../formats/temp-folder.test.helper.js';
import { fixtureModel } from '../step/step.test.helper.js';
import { defineTask } from '../tasks/define.js';
import { openRun } from './open-run.js';
import { requireRowsFit } from './rows-fit.js';
import { tinyModelFolder } from './tiny-model.test.helper.js';

/** The tiny model has 128 positions, and a token for a byte of these. */
const LONG = '7'.repeat(128);

const lines = (rows: readonly object[]) => rows.map((row) => `${JSON.stringify(row)}\n`).join('');

/** Opens a run on rows, one of which may be long. */
async function open(command: 'train' | 'sft', train: readonly object[], held: readonly object[]) {
  const root = tempFolder();
  const at = (name: string) => join(root, name);
  writeFileSync(at('rows.jsonl'), lines(train));
  writeFileSync(at('held.jsonl'), lines(held));
  writeFileSync(at('reward.js'), 'export default ({ completions }) => completions.map(() => 1);');
  const settings = [
    `output=${at('run')}`,
    `model=${await tinyModelFolder()}`,
    `task.data=${at('rows.jsonl')}`,
    `task.evalData=${at('held.jsonl')}`,
    'task.grading=none',
    'eval.limit=2',
    ...(command === 'train' ? [`rewards=[{module: ${at('reward.js')}}]`] : []),
  ];
  const opened = openRun(resolveConfig({ command, settings }));
  await opened.then((session) => session[Symbol.asyncDispose]()).catch(() => {});
  return { at, opened, isMade: existsSync(at('run')) };
}

const rows = (...questions: string[]) => questions.map((question) => ({ question, answer: '1' }));

describe('rows of a run', () => {
  it.each<['rows.jsonl' | 'held.jsonl', object[], object[]]>([
    ['rows.jsonl', rows('12', '13', LONG, '14', LONG), rows('15')],
    ['held.jsonl', rows('12'), rows('13', LONG)],
  ])('that are too long for the model are named before the run begins: %s', async (name, train, held) => {
    const { at, opened, isMade } = await open('train', train, held);
    const line = name === 'rows.jsonl' ? 3 : 2;
    const more = name === 'rows.jsonl' ? ' (2 rows in all are too long)' : '';
    await expect(opened).rejects.toThrow(
      `${at(name)}:${line}: the prompt has 128 tokens, and the model's context holds 128${more}`,
    );
    expect(isMade).toBe(false);
  });

  it('of any length are named, whatever memory they would need', async () => {
    const { at, opened } = await open('train', rows('12', '7'.repeat(3_000_000)), rows('15'));
    await expect(opened).rejects.toThrow(
      `${at('rows.jsonl')}:2: the prompt has 3000000 tokens, and the model's context holds 128`,
    );
    const answer = '7'.repeat(3_000_000);
    const shown = await open('sft', [{ question: '12', answer }], rows('15'));
    await expect(shown.opened).rejects.toThrow('the prompt with its demonstration has 3000003 tokens');
  });

  it('without demonstrations leave no folder behind, for SFT', async () => {
    const { opened, isMade } = await open('sft', [{ question: '12' }, { question: '13' }], rows('15'));
    await expect(opened).rejects.toThrow('has no demonstrations to imitate');
    expect(isMade).toBe(false);
  });

  it('that hold half a character are named', async () => {
    const { at, opened } = await open('train', rows('12', '\\ud800', '3\ud83d'), rows('15'));
    await expect(opened).rejects.toThrow(
      `${at('rows.jsonl')}:3: a text holds half a character (the lone surrogate U+D83D), which no tokenizer can read`,
    );
  });

  it('that just fit, or are not evaluated, are taken', async () => {
    const { opened } = await open('train', rows(LONG.slice(1)), rows('12', '13', LONG));
    await expect(opened).resolves.toBeDefined();
  });

  it('with a demonstration must fit with it, for SFT', async () => {
    const train = [
      ...rows('12'),
      { question: LONG.slice(9), answer: '12345678' },
      { question: '13', answer: LONG },
    ];
    const { at, opened } = await open('sft', train.slice(0, 2), rows('15'));
    await expect(opened).resolves.toBeDefined();
    const long = await open('sft', train, rows('15'));
    await expect(long.opened).rejects.toThrow(
      `${long.at('rows.jsonl')}:3: the prompt with its demonstration has 131 tokens, and the model's context holds 128`,
    );
    const { isMade } = await open('train', [{ question: '13', answer: LONG }], rows('15'));
    expect([isMade, existsSync(at('run'))]).toEqual([true, true]);
  });

  it('of a task in code are named by their number', () => {
    const task = defineTask({
      name: 'words',
      rows: ['a', 'b'.repeat(200), 'c'],
      evalRows: ['d'],
      prompt: (row) => row,
      rewards: {},
    });
    const resolved = { command: 'train', config: { eval: { limit: 2 } } } as ResolvedConfig;
    expect(() => requireRowsFit(fixtureModel('llama3'), task, resolved)).toThrow(
      /^task words, training row 2: the prompt has \d+ tokens/,
    );
  });
});
