import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { resolveConfig } from '../../config/index.js';
import { tempFolder } from '../../formats/temp-folder.test.helper.js';
import { defineTask } from '../../tasks/define.js';
import { readStepRecord } from '../../trace/index.js';
import { placeOf } from '../../trace/readers/place.js';
import { readRunFolder } from '../../trace/readers/run-folder.js';
import { forOneStep, takeStep } from '../one-step.js';
import { openRun, type Run } from '../open-run.js';
import { tinyModelFolder } from '../tiny-model.test.helper.js';
import { trainGrpo } from '../train-grpo.js';

interface Row {
  i: number;
}

const task = defineTask<Row>({
  name: 'parity',
  rows: Array.from({ length: 24 }, (_, i) => ({ i })),
  prompt: ({ i }) => `${i}+1=`,
  rewards: { right: (completion, { i }) => Number((completion.length + i) % 3 === 0) },
  isCorrect: (completion, { i }) => (completion.length + i) % 3 === 0,
});

/** Opens a run of two steps with evaluations before and after. */
async function opened(settings: readonly string[] = []) {
  const notes: string[] = [];
  const output = join(tempFolder(), 'run');
  const resolved = resolveConfig({
    command: 'train',
    settings: [
      `output=${output}`,
      'task.name=arithmetic',
      `model=${await tinyModelFolder()}`,
      ...['rollout.prompts=2', 'rollout.group=2', 'rollout.maxNewTokens=4', 'train.steps=2', 'eval.limit=4'],
      ...['train.canaries=0', ...settings],
    ],
  });
  const open = (one = resolved) => openRun(one, { task, watcher: { note: (text) => notes.push(text) } });
  const audits = () => readStepRecord(join(output, 'steps', '000002')).audit!.comparisons;
  const findings = () => readFileSync(join(output, 'findings.jsonl'), 'utf8');
  return { resolved, open, notes, audits, findings };
}

/** Samples evaluations hot, and everything else as it should be. */
const withHotEvaluation = (run: Run): Run => ({
  ...run,
  sample: (model, requests, ...rest) =>
    run.sample(
      model,
      requests.map((one) =>
        one.keys[0] === -1 ? { ...one, temperatures: one.temperatures?.map(() => 1) } : one,
      ),
      ...rest,
    ),
});

describe('the evaluations of a run', () => {
  it('leave no finding where they hold', async () => {
    const { open, notes, audits } = await opened(['doctor.onFinding=stop']);
    await using run = await open();
    const { stopped, after } = await trainGrpo(run);
    expect(stopped).toBeUndefined();
    expect(after).toBeDefined();
    expect(notes.filter((text) => text.includes('H14'))).toEqual([]);
    expect(audits().filter(({ handOver }) => handOver === 'evaluation')).toEqual([]);
  });

  it('end it where they do not hold, before the first step too', async () => {
    const { open, notes, findings } = await opened();
    await using run = await open();
    const { stopped, before } = await trainGrpo(withHotEvaluation(run));
    expect(stopped).toMatchObject({ code: 'H14.audit', severity: 'fail' });
    expect(before).toBeDefined();
    expect(run.progress.step).toBe(0);
    expect(notes).toContainEqual(
      expect.stringMatching(
        /^evaluation before the first step: H14.audit fail: The distance in nats of a greedy token of held-out problem \d from the likeliest is /,
      ),
    );
    expect(findings()).toContain('"code":"H14.audit"');
    const { records } = readRunFolder(placeOf(run.folder.path));
    const [record] = records!;
    expect(record!.audit!.comparisons).toContainEqual(expect.objectContaining({ handOver: 'evaluation' }));
  });

  it('become part of the record of the step before them', async () => {
    const { open, audits, findings } = await opened(['eval.before=false']);
    await using run = await open();
    const { stopped } = await trainGrpo(withHotEvaluation(run));
    expect(stopped).toMatchObject({ code: 'H14.audit' });
    expect(run.progress.step).toBe(2);
    const handOvers = new Set(audits().map(({ handOver }) => handOver));
    expect([...handOvers]).toEqual(expect.arrayContaining(['completion', 'gradient', 'evaluation']));
    expect(findings()).toMatch(/"step":2,"code":"H14.audit"/);
  });

  it('are not examined where nothing is', async () => {
    for (const setting of ['doctor.every=0', 'doctor.onFinding=off']) {
      const { open } = await opened([setting]);
      await using run = await open();
      expect((await trainGrpo(withHotEvaluation(run))).stopped).toBeUndefined();
    }
  });

  it('are of problems that are trained on where a single step is taken', async () => {
    const { resolved, open } = await opened();
    await using run = await open(forOneStep(resolved));
    expect((await takeStep(run)).stopped).toBeUndefined();
  });

  it('end it where a held-out problem is trained on', async () => {
    const { open, notes } = await opened(['eval.before=false']);
    await using run = await open();
    run.task.train.push(run.task.eval[0]!);
    expect((await trainGrpo(run)).stopped).toMatchObject({ code: 'H14.audit' });
    expect(notes.at(-1)).toBe(
      'evaluation after step 2: H14.audit fail: The training row that asks what a held-out problem asks is "row 20, as held-out problem 1"; a second, plain computation gives "none".',
    );
  });
});
