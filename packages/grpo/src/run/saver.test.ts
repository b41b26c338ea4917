import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { noGrad } from '@grpo/torch';
import { describe, expect, it } from 'vitest';
import { registry } from '../doctor/registry.js';
import { tempFolder } from '../formats/temp-folder.test.helper.js';
import { type Stages, stages } from '../step/stages.js';
import { readRun } from '../trace/readers/index.js';
import { examineReading } from '../view/report/examine-reading.js';
import { reportOf } from '../view/report/report.js';
import { halfOfTheTokens, type RunOptions, remainsOf, run } from './run.test.helper.js';
import { tinyModelFolder } from './tiny-model.test.helper.js';

/** The stage of a name, which throws when it is called for the `at`-th time, counted from 1. */
function failing<Name extends 'score' | 'update'>(name: Name, at: number): Partial<Stages> {
  const own = { score: halfOfTheTokens, update: stages.update };
  let calls = 0;
  const stage = (...args: never[]) => {
    if (++calls === at) throw new Error('a bug of mine');
    return (own[name] as (...args: never[]) => unknown)(...args);
  };
  return { [name]: stage } as Partial<Stages>;
}

/** A way to run with the tiny model, and what such runs leave and tell. */
async function place() {
  const root = tempFolder();
  const model = await tinyModelFolder();
  const notes: string[] = [];
  const at = (name: string, settings: readonly string[] = []): RunOptions => ({
    output: join(root, name),
    // Without a preflight a stage is called once in each step.
    settings: [`model=${model}`, 'train.canaries=0', 'doctor.onFinding=off', ...settings],
    note: (text) => notes.push(text),
  });
  const saved = (name: string) => readdirSync(join(root, name, 'checkpoints')).sort();
  return { root, at, saved, notes };
}

it('an error in examining a step ends the run after it, and the step is saved', async () => {
  const { root, at, saved, notes } = await place();
  const records = join(root, 'run', 'steps');
  const blocked = {
    ...at('run', ['record.every=1']),
    onStep: (step: number) => {
      if (step !== 4) return;
      rmSync(records, { recursive: true });
      writeFileSync(records, '');
    },
  };
  await expect(run(blocked)).rejects.toThrow(/steps.000005: a part of the path is a file.*ENOTDIR/);
  expect(saved('run')).toEqual(['step-5-error']);
  expect(notes.at(-1)).toMatch(/^Saved the state after step 5: /);
  rmSync(records);
  const { rows } = await run({ ...at('run'), resume: true });
  expect(rows.map(({ step }) => step)).toEqual([6, 7, 8]);
});

describe('an error in a step', () => {
  it.each<[string, 'score' | 'update', string[]]>([
    ['', 'score', []],
    // These take problems, and store groups, before they fail.
    [
      ' with groups that give way',
      'update',
      ['groups.refills=1', 'groups.replay=2', 'objective.oldLogprobs=sampler'],
    ],
  ])(
    'saves the whole step before it%s, and the run goes on as if nothing was',
    async (_, stage, settings) => {
      const { root, at, saved, notes } = await place();
      // A stage of one's own is named in the records.
      await run({ ...at('whole', settings), stages: failing(stage, 0) });
      const failed = { ...at('failed', settings), stages: failing(stage, 4) };
      await expect(run(failed)).rejects.toThrow('a bug of mine');
      const [name] = saved('failed');
      expect(name).toMatch(/^step-[2-4]-error$/);
      const step = Number(/\d+/.exec(name!));
      const dir = join(root, 'failed/checkpoints', name!);
      expect(notes.at(-1)).toBe(`Saved the state after step ${step}: ${dir}`);
      const goOn = { ...at('failed', settings), stages: failing(stage, 0), resume: true };
      const { rows } = await run(goOn);
      expect(rows[0]?.step).toBe(step + 1);
      expect(saved('failed')).toEqual(['step-8']);
      expect(remainsOf(join(root, 'failed'))).toEqual(remainsOf(join(root, 'whole')));
    },
  );

  it('of expert iteration does so too', async () => {
    const { at, saved } = await place();
    const { settings, ...options } = at('run');
    const own = [settings[0]!, 'expert.threshold=0'];
    const failed = run({ ...options, settings: own, command: 'expert', stages: failing('score', 3) });
    await expect(failed).rejects.toThrow('a bug of mine');
    expect(saved('run')).toEqual(['step-2-error']);
  });

  it('takes the place of no checkpoint without one', async () => {
    const { at, saved } = await place();
    const options = at('run', ['checkpoint.every=2', 'checkpoint.keep=1']);
    await expect(run({ ...options, stages: failing('score', 4) })).rejects.toThrow('a bug of mine');
    expect(saved('run')).toEqual(['step-2', 'step-3-error']);
  });

  it('after the first of its updates saves nothing, and says so', async () => {
    const { at, saved, notes } = await place();
    // Two updates a step: the eighth is the second of step 4.
    const updates = ['objective.iterations=2', 'objective.oldLogprobs=recompute'];
    const options = at('run', [...updates, 'checkpoint.every=2']);
    await expect(run({ ...options, stages: failing('update', 8) })).rejects.toThrow('a bug of mine');
    expect(saved('run')).toEqual(['step-2']);
    expect(notes.at(-1)).toBe(
      'The state after step 3 was not saved: the next step had changed the weights already.',
    );
  });

  it('saves no weights that are not finite', async () => {
    const { at, saved, notes } = await place();
    let updates = 0;
    const update: Stages['update'] = (optimizer, ...rest) => {
      const result = stages.update(optimizer, ...rest);
      if (++updates === 3)
        for (const { parameter } of optimizer.weights()) noGrad(() => parameter.fill_(NaN));
      return result;
    };
    const options = at('run', ['checkpoint.every=2']);
    await expect(run({ ...options, stages: { update } })).rejects.toThrow();
    expect(saved('run')).toEqual(['step-2']);
    expect(notes.at(-1)).toBe('The state after step 3 was not saved: weights or optimizer are not finite.');
  });

  it('is what is reported, also where saving fails', async () => {
    const { root, at, notes } = await place();
    const onStep = (step: number) => {
      if (step === 3) writeFileSync(join(root, 'run/checkpoints'), '');
    };
    const failed = run({ ...at('run'), onStep, stages: failing('score', 4) });
    await expect(failed).rejects.toThrow('a bug of mine');
    expect(notes.at(-1)).toMatch(/^The state after step 3 could not be saved: cannot write .*checkpoints/);
  });

  it('before the first whole step leaves nothing to save', async () => {
    const { root, at } = await place();
    await expect(run({ ...at('run'), stages: failing('score', 1) })).rejects.toThrow('a bug of mine');
    expect(readdirSync(join(root, 'run'))).not.toContain('checkpoints');
  });
});

it('a reward that fails in an evaluation ends the run; the folder tells of it until the run goes on', async () => {
  const { root, at } = await place();
  const [flag, told] = [join(root, 'broken'), join(root, 'run', 'error.json')];
  const module = join(root, 'length.mjs');
  writeFileSync(flag, '');
  writeFileSync(
    module,
    `import { existsSync } from 'node:fs';
export default ({ completions }) => completions.map((text) => {
  if (existsSync(${JSON.stringify(flag)})) throw new TypeError('no grader');
  return text.length;
});`,
  );
  const failing = at('run', ['eval.before=true', `rewards=[{module: ${JSON.stringify(module)}}]`]);
  await expect(run(failing)).rejects.toThrow(/no grader/);
  expect(JSON.parse(readFileSync(told, 'utf8'))).toMatchObject({
    step: 0,
    error: expect.stringContaining('no grader'),
  });
  const reading = await readRun(join(root, 'run'));
  expect(reading.kind).toBe('run folder of grpo that an error ended');
  expect(reading.crash).toMatch(/^An error ended the run after step 0: reward length/);
  const { examined, diagnosis } = examineReading('run', reading);
  // No praise leads the report of a run that broke.
  expect(reportOf(examined, diagnosis, registry)).toMatchObject({
    verdict: expect.stringMatching(/^An error ended the run after step 0: .*no grader/),
    isSound: false,
  });
  rmSync(flag);
  await run({ ...failing, resume: true, restart: true });
  expect(existsSync(told)).toBe(false);
});
