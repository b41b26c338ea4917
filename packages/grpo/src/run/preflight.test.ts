import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { examine } from '../doctor/examine.js';
import { registry } from '../doctor/registry.js';
import { tempFolder } from '../formats/temp-folder.test.helper.js';
import { readShape } from '../models/index.js';
import type { MetricsRow } from '../observe/metrics.js';
import type { Stages } from '../step/stages.js';
import { rewarding } from '../step/step.test.helper.js';
import { readStepRecord } from '../trace/index.js';
import { preflightIn } from './folder/run-folder.js';
import { openRun } from './open-run.js';
import { halfOfTheTokens, remainsOf, resolvedRun, run } from './run.test.helper.js';
import { tinyModelFolder } from './tiny-model.test.helper.js';
import { trainGrpo } from './train-grpo.js';

/** A way to run in one folder, whose model stays the same. */
async function place(more: readonly string[] = []) {
  const root = tempFolder();
  const settings = [`model=${await tinyModelFolder()}`, 'eval.every=4', 'eval.limit=1', ...more];
  const at = (name: string) => ({ output: join(root, name), settings });
  return { root, at, options: at('run') };
}

/** A run that samples at another temperature than the declared one. */
async function faulty({ output, settings }: { output: string; settings: string[] }) {
  const notes: string[] = [];
  const rows: MetricsRow[] = [];
  await using session = await openRun(resolvedRun({ output, settings }), {
    watcher: { note: (text) => notes.push(text), step: (row) => rows.push(row) },
  });
  session.sampling = { ...session.sampling, temperature: 0.2 };
  return { end: await trainGrpo(session), notes, rows };
}

describe('a preflight that fails', () => {
  it('ends the run before it begins, and leaves its folder to the next one', async () => {
    const { options } = await place();
    const { end, rows, notes } = await faulty(options);
    expect(end).toMatchObject({ stopped: { severity: 'fail' }, interrupted: false, before: undefined });
    expect(rows).toEqual([]);
    expect(notes[0]).toMatch(/^preflight: \S+ fail( \(.+?\))?: .+\. .+\.$/);
    expect(readdirSync(options.output)).toEqual(['preflight']);
    const [code] = /(?<=^preflight: )\S+/.exec(notes[0]!)!;
    const records = [readStepRecord(preflightIn(options.output))];
    expect(examine({ records }, registry).findings.map((one) => one.code)).toContain(code);
    expect((await run(options)).rows).toHaveLength(8);
    expect(existsSync(preflightIn(options.output))).toBe(false);
  });

  it('leaves what was in the folder before', async () => {
    const { options } = await place();
    mkdirSync(options.output);
    writeFileSync(join(options.output, 'notes.txt'), '');
    await faulty(options);
    expect(readdirSync(options.output)).toEqual(['notes.txt', 'preflight']);
  });

  it('goes on where the settings say so', async () => {
    const { options } = await place([
      'train.steps=1',
      'doctor.onFinding=[{finding: fail, from: 2, do: stop}]',
    ]);
    const { end, rows } = await faulty(options);
    expect([end.stopped, rows.length]).toEqual([undefined, 1]);
  });

  it('with an error is that error, and leaves no run either', async () => {
    const { options } = await place();
    const score = () => Promise.reject(new Error('a bug of mine'));
    await expect(run({ ...options, stages: { score } })).rejects.toThrow('a bug of mine');
    expect(existsSync(options.output)).toBe(false);
  });
});

describe('a preflight', () => {
  it('tries a small part of the first step, before the evaluation', async () => {
    const small = ['rollout.prompts=4', 'rollout.maxNewTokens=40', 'train.steps=1', 'train.canaries=0'];
    const { options } = await place(small);
    const scored: number[] = [];
    const lengths: number[] = [];
    const score: Stages['score'] = (...args) => {
      scored.push(args[2].flat().length);
      lengths.push(Math.max(...args[2].flat().map(({ ids }) => ids.length)));
      return halfOfTheTokens(...args);
    };
    const { reports } = await run({ ...options, stages: { score } });
    expect(Object.keys(reports).indexOf('preflight')).toBeLessThan(
      Object.keys(reports).indexOf('evaluation'),
    );
    expect([scored, lengths[0], lengths[1]! > 32]).toEqual([[4, 8], 32, true]);
  });

  it('is not done again by a resumed run, and once more where it was abandoned', async () => {
    const { root, at } = await place();
    const whole = await run(at('whole'));
    expect(whole.reports.preflight).toBeGreaterThan(0);
    const abandoned = await run({ ...at('run'), abortIn: { stage: 'preflight', report: 2 } });
    expect(abandoned.end.interrupted).toBe(true);
    expect(abandoned.notes).toContain('The preflight is abandoned: a resumed run does it again.');
    const second = await run({ ...at('run'), resume: true, stopAfter: 3 });
    expect(second.reports.preflight).toBe(whole.reports.preflight);
    const third = await run({ ...at('run'), resume: true });
    expect(third.reports.preflight).toBeUndefined();
    expect(remainsOf(join(root, 'run'))).toEqual(remainsOf(join(root, 'whole')));
  });

  it('has nothing to say of groups that are all dropped', async () => {
    const { options } = await place(['advantage.flat=drop', 'train.steps=1']);
    const { end, notes } = await run({ ...options, stages: { score: rewarding(() => 0.5) } });
    expect([end.stopped, notes.filter((text) => text.startsWith('preflight'))]).toEqual([undefined, []]);
  });

  it('tells of a template that writes the day, and of prompts that leave little room, once and before step 1', async () => {
    const { root, options } = await place();
    const { model } = resolvedRun(options).config;
    const template = `{{ strftime_now('%Y-%m-%d %H') }}{% for one in messages %}{{ one.role ~ ':' ~ one.content ~ '\n' }}{% endfor %}{% if add_generation_prompt %}{{ 'assistant:' }}{% endif %}`;
    writeFileSync(join(model!, 'chat_template.jinja'), template);
    const rows = ['1+1', '1+2', '1+3', '10000+20000'].map((question) =>
      JSON.stringify({ question, answer: 2 }),
    );
    writeFileSync(join(root, 'rows.jsonl'), rows.join('\n'));
    writeFileSync(join(root, 'prompt.txt'), '{question}=');
    const data = [
      'task.name=jsonl',
      `task.prompt=${join(root, 'prompt.txt')}`,
      `task.data=${join(root, 'rows.jsonl')}`,
      'task.evalSize=1',
    ];
    const short = [...data, 'train.steps=1', 'doctor.onFinding=warn'];
    const warnings = async (output: string, more: readonly string[]) =>
      (await run({ output, settings: [...options.settings, ...short, ...more] })).notes.filter((text) =>
        /^preflight: (The template|The longest)/.test(text),
      );
    expect(await warnings(join(root, 'plain'), [])).toEqual([]);
    const dated = await warnings(join(root, 'dated'), ['task.system=Add.']);
    expect(dated).toHaveLength(1);
    expect(dated[0]).toMatch(
      /^preflight: The template writes the day of the run into 4 of 4 prompts .* Write a/,
    );
    const { maxPositions } = readShape(model!);
    expect(await warnings(join(root, 'long'), [`rollout.maxNewTokens=${maxPositions - 8}`])).toHaveLength(1);
  });
});
