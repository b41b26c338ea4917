/** Judges as `rewards: [{judge: {…}}]` names them. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { judgeSection } from '../../config/sections/judge.js';
import { FormatError } from '../../errors/format-error.js';
import { tempFolder } from '../../formats/temp-folder.test.helper.js';
import { loadReward } from '../load-reward.js';
import { scoreCompletions } from '../score.js';
import { takeJudgeReports } from './judge-report.js';
import { judgeServer, say } from './server.test.helper.js';

/** A prompt file, and the settings of a judge that reads it. */
function settings(baseURL: string, text: string | Uint8Array, more: object = {}) {
  const prompt = join(tempFolder(), 'judge.txt');
  writeFileSync(prompt, text);
  return judgeSection.parse({ baseURL, model: 'm', prompt, ...more });
}

describe('a configured judge', () => {
  it('is asked what its file says, byte for byte', async () => {
    const { baseURL, asked } = await judgeServer((response) => say(response, '{"score": 0.5}'));
    using reward = await loadReward({ judge: settings(baseURL, '\r\n Ü {completion}\n\n'), weight: 2 });
    const batch = { prompts: ['p'], completions: ['c'], rows: [{}] };
    const table = await scoreCompletions([reward], batch, { onError: 'stop' });
    expect(asked[0]!.message).toBe('\r\n Ü c\n\n');
    expect(table).toMatchObject({ names: ['judge'], weights: [2] });
    expect(table.facts).toEqual({
      providers: [`m@${new URL(baseURL).host}`],
      replies: ['{"score": 0.5}'],
    });
  });

  it('names who failed too, so that a group has one judge in the record', async () => {
    const { baseURL } = await judgeServer((response, { message }) =>
      message === 'bad' ? say(response, '{}') : say(response, '{"score": 0.5}'),
    );
    using reward = await loadReward({ judge: settings(baseURL, '{completion}'), weight: 1 });
    const batch = { prompts: ['p', 'p'], completions: ['c', 'bad'], rows: [{}, {}] };
    const table = await scoreCompletions([reward], batch, { onError: 'drop' });
    expect([...table.columns[0]!]).toEqual([0.5, Number.NaN]);
    expect([...table.unscored]).toEqual([0, 1]);
    expect(table.facts?.providers).toEqual(Array(2).fill(`m@${new URL(baseURL).host}`));
    expect(table.facts?.replies).toEqual(['{"score": 0.5}', null]);
  });

  it('pays what the tier of the row takes, and still tells who judged', async () => {
    const { baseURL } = await judgeServer((response) =>
      say(response, '{"scores": {"ahimsa": 1, "dharma": 0.5, "helpfulness": 0, "missed": 0.5, "over": 1}}'),
    );
    const components = { ahimsa: 0.3, dharma: 0.4, helpfulness: 0.3, missed: 0, over: 0 };
    const tiers = { A: { missed: 1, over: 0 }, B: { missed: 0.5, over: 0.2 }, C: { missed: 0, over: 0.3 } };
    const judge = settings(baseURL, '{completion}', { components });
    using reward = await loadReward({ judge, weight: 1, tiers });
    const batch = {
      prompts: ['p', 'q', 'r'],
      completions: ['c', 'd', 'e'],
      rows: ['A', 'B', 'C'].map((tier) => ({ tier })),
    };
    const { columns, facts } = await scoreCompletions([reward], batch, { onError: 'stop' });
    for (const [i, value] of [0, 0.05, 0.2].entries()) expect(columns[0]![i]).toBeCloseTo(value, 12);
    expect(facts?.providers).toHaveLength(3);
    expect(takeJudgeReports([reward]).numbers['judge/judge/requests']).toBe(3);
  });

  it('refuses a prompt that is not there, is none, or has no place for the completion', async () => {
    const load = (text: string | Uint8Array) =>
      loadReward({ judge: settings('http://localhost/v1', text), weight: 1 });
    await expect(load('Rate {prompt}')).rejects.toThrow(/judge\.txt has no \{completion\}/);
    await expect(load(new Uint8Array([0xff, 0xfe]))).rejects.toThrow(FormatError);
    const gone = { ...settings('http://localhost/v1', ''), prompt: 'nowhere/judge.txt' };
    await expect(loadReward({ judge: gone, weight: 1 })).rejects.toThrow('nowhere/judge.txt');
  });

  it('has words for each of its settings', () => {
    for (const [name, { description }] of Object.entries(judgeSection.shape))
      expect(description, name).toMatch(/^\S.{15,}[^.]$/);
  });
});
