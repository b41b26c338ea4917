import { appendFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cpuLevels, getThreads, setThreads, torchVersion } from '@grpo/torch';
import { describe, expect, it, onTestFinished } from 'vitest';
import { resolveConfig } from '../config/index.js';
import { tempFolder } from '../formats/temp-folder.test.helper.js';
import { engineLibraries } from './circumstances.js';
import { openRun } from './open-run.js';
import { remainsOf } from './run.test.helper.js';
import { tinyModelFolder } from './tiny-model.test.helper.js';
import { trainGrpo } from './train-grpo.js';

/** A folder with sixteen problems, and a way to open a run on them. */
async function surroundings() {
  const root = tempFolder();
  const at = (name: string) => join(root, name);
  const rows = Array.from({ length: 17 }, (_, i) => `${JSON.stringify({ question: `say ${i}`, i })}\n`);
  writeFileSync(at('held.jsonl'), rows.pop()!);
  writeFileSync(at('rows.jsonl'), rows.join(''));
  const model = await tinyModelFolder();
  const resolved = (output: string, more: readonly string[]) =>
    resolveConfig({
      command: 'train',
      settings: [
        `output=${at(output)}`,
        `model=${model}`,
        `task.data=${at('rows.jsonl')}`,
        `task.evalData=${at('held.jsonl')}`,
        'task.grading=none',
        'rollout.prompts=2',
        'rollout.group=2',
        'rollout.maxNewTokens=6',
        'optimizer.learningRate=0.01',
        ...more,
      ],
    });
  return { at, model, resolved };
}

describe('the circumstances of a run', () => {
  it('stand in its record, and what has changed when it is resumed is said', async () => {
    const { at, model, resolved } = await surroundings();
    writeFileSync(at('brief.js'), 'export default ({ completions }) => completions.map((c) => -c.length);');
    const threads = getThreads();
    onTestFinished(() => setThreads(threads));
    const notes: string[] = [];
    const open = async (threadsNow: number, resume: boolean) => {
      const settings = [`threads=${threadsNow}`, `rewards=[{module: ${at('brief.js')}}]`];
      const session = await openRun(resolved('run', settings), {
        resume,
        watcher: { note: (text) => notes.push(text) },
      });
      await session[Symbol.asyncDispose]();
      return JSON.parse(readFileSync(at('run/config.json'), 'utf8'));
    };
    const record = await open(1, false);
    expect(record).toMatchObject({
      versions: { node: process.versions.node, libtorch: torchVersion() },
      engine: { device: 'cpu', threads: 1, ...engineLibraries(), kernels: cpuLevels().chosen },
    });
    const modelFiles = readdirSync(model).sort();
    expect(modelFiles).toContain('model.safetensors');
    expect(Object.keys(record.files)).toEqual([
      ...['rows.jsonl', 'held.jsonl', 'brief.js'].map(at),
      ...modelFiles.map((name) => join(model, name)),
    ]);
    expect(record.files[at('held.jsonl')]).toMatch(/^\d+ bytes, sha256 [0-9a-f]{64}$/);

    await open(1, true);
    const restarted = `${at('run')} has no checkpoint: the run starts over.`;
    expect(notes.splice(0)).toEqual([restarted]);
    const evaluations = at('run/eval.jsonl');
    writeFileSync(evaluations, '{"step":0}\n');
    await open(1, true);
    expect(readFileSync(evaluations, 'utf8')).not.toBe('');
    expect(notes.splice(0)).toEqual([restarted]);
    // Another reward measures otherwise.
    appendFileSync(at('brief.js'), '// mended');
    await open(2, true);
    expect(readFileSync(evaluations, 'utf8')).toBe('');
    expect(notes).toEqual([
      `Changed since this run was last started: threads 1, now 2; ${at('brief.js')} has changed.`,
      restarted,
    ]);
    await open(2, true);
    expect(notes).toHaveLength(3);
    appendFileSync(at('rows.jsonl'), '{"question": "one more"}\n');
    await expect(open(2, true)).rejects.toThrow(`cannot go on: ${at('rows.jsonl')} changed`);
  });
});

describe('completions longer than the context', () => {
  it('are said to end there', async () => {
    const { at, resolved } = await surroundings();
    writeFileSync(at('brief.js'), 'export default ({ completions }) => completions.map((c) => -c.length);');
    const own = `rewards=[{module: ${at('brief.js')}}]`;
    const notesOf = async (output: string, tokens: number) => {
      const notes: string[] = [];
      const watcher = { note: (text: string) => notes.push(text) };
      const session = await openRun(resolved(output, [own, `rollout.maxNewTokens=${tokens}`]), { watcher });
      await session[Symbol.asyncDispose]();
      return notes;
    };
    expect(await notesOf('short', 6)).toEqual([]);
    expect(await notesOf('long', 100_000)).toEqual([
      expect.stringMatching(/^rollout\.maxNewTokens=100000: the context of the model holds \d+ tokens/),
    ]);
  });
});

describe('two runs of one seed', () => {
  it('are equal byte for byte with rewards in workers, one of which runs out of time', async () => {
    const { at, resolved } = await surroundings();
    writeFileSync(
      at('length.ts'),
      `import { each } from 'grpo/rewards';
       export default each((completion: string): number => completion.length);`,
    );
    writeFileSync(
      at('stuck.ts'),
      `import { each } from 'grpo/rewards';
       export default each((_: string, row: { i: number }): number => {
         while (row.i === 1);
         return 0;
       });`,
    );
    const worker = (name: string, seconds: number) => `{module: ${at(name)}, timeoutSeconds: ${seconds}}`;
    const rewards = `rewards=[${worker('length.ts', 60)}, ${worker('stuck.ts', 0.5)}]`;
    const remains = async (output: string) => {
      // Two problems a step: each comes once in eight steps.
      const settings = [rewards, 'onRewardError=drop', 'train.steps=8'];
      await using session = await openRun(resolved(output, settings));
      await trainGrpo(session);
      return remainsOf(at(output));
    };
    const one = await remains('one');
    const failures = one.metrics.match(/"reward_failures":\d/g);
    expect(failures?.sort()).toEqual([...Array(7).fill('"reward_failures":0'), '"reward_failures":2']);
    expect(await remains('two')).toEqual(one);
  });
});
