import { appendFileSync, cpSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { resolveConfig, UsageError } from '../config/index.js';
import { tempFolder } from '../formats/temp-folder.test.helper.js';
import { openRun } from './open-run.js';
import { tinyModelFolder } from './tiny-model.test.helper.js';

const lines = (words: readonly string[]) =>
  words.map((word) => `${JSON.stringify({ question: word, answer: '1' })}\n`).join('');

/** A run that was opened and closed, and a way to open it again with other settings. */
async function madeRun(made: readonly string[] = []) {
  const root = tempFolder();
  const at = (name: string) => join(root, name);
  cpSync(await tinyModelFolder(), at('model'), { recursive: true });
  writeFileSync(at('rows.jsonl'), lines(['one', 'two', 'three', 'four', 'five']));
  writeFileSync(at('reward.js'), 'export default ({ completions }) => completions.map((c) => c.length);');
  const open = async (settings: readonly string[], resume = true) => {
    const given = [
      `output=${at('run')}`,
      `model=${at('model')}`,
      `task.data=${at('rows.jsonl')}`,
      'task.grading=none',
      `rewards=[{module: ${at('reward.js')}}]`,
      ...made,
      ...settings,
    ];
    await using session = await openRun(resolveConfig({ command: 'train', settings: given }), { resume });
    return session.config;
  };
  await open([], false);
  return { at, open };
}

describe('a run that goes on', () => {
  it.each([
    ['dtype=bfloat16', 'dtype=float32, which cannot go on with dtype=bfloat16'],
    ['seed=5', 'seed=0, which cannot go on with seed=5'],
    ['preset=dapo', 'preset=(not set), which cannot go on with preset=dapo'],
    ['lora.rank=4', 'lora.rank=0, which cannot go on with lora.rank=4'],
    ['kl.referenceEvery=3', 'kl.referenceEvery=0, which cannot'],
    ['task.evalSize=2', 'task.evalSize=(not set), which cannot go on with task.evalSize=2'],
    ['task.system=Be brief.', 'which cannot go on with task.system=Be brief.'],
  ])('cannot take %s', async (setting, message) => {
    const { open } = await madeRun(['kl.beta=0.1']);
    const resumed = open([setting]);
    await expect(resumed).rejects.toThrow(UsageError);
    await expect(resumed).rejects.toThrow(message);
    await expect(resumed).rejects.toMatchObject({ hint: expect.stringContaining('begin a new run') });
  });

  it('takes what only later steps depend on', async () => {
    const { open } = await madeRun();
    const settings = ['train.steps=7', 'rollout.group=4', 'kl.beta=0.1', 'optimizer.learningRate=1e-5'];
    await expect(open(settings)).resolves.toMatchObject({ train: { steps: 7 }, rollout: { group: 4 } });
  });

  it.each([
    ['model', 'model', 'config.json'],
    ['task.data', 'rows.jsonl', ''],
  ])('takes its %s from another place, and no other one', async (key, name, file) => {
    const { at, open } = await madeRun();
    cpSync(at(name), at(`copy-of-${name}`), { recursive: true });
    await open([`${key}=${at(`copy-of-${name}`)}`]);
    const other = join(at('other'), file);
    cpSync(at(name), at('other'), { recursive: true });
    if (file === '') writeFileSync(other, lines(['six', 'seven', 'eight']));
    else appendFileSync(other, '\n');
    await expect(open([`${key}=${at('other')}`])).rejects.toThrow(`cannot go on with ${key}=${at('other')}`);
    renameSync(other, join(at(`copy-of-${name}`), file));
    await expect(open([`${key}=${at(`copy-of-${name}`)}`])).rejects.toThrow(
      `cannot go on: ${join(at(`copy-of-${name}`), file)} changed`,
    );
  });

  it('goes on by the command that made it', async () => {
    const { at } = await madeRun();
    const settings = [`output=${at('run')}`, `model=${at('model')}`, `task.data=${at('rows.jsonl')}`];
    const resolved = resolveConfig({ command: 'sft', settings: [...settings, 'task.grading=none'] });
    await expect(openRun(resolved, { resume: true })).rejects.toThrow(
      'holds a run of grpo train, not of grpo sft',
    );
  });
});
