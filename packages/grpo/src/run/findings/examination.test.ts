import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { resolveConfig } from '../../config/index.js';
import { tempFolder } from '../../formats/temp-folder.test.helper.js';
import type { MetricsRow } from '../../observe/metrics.js';
import { headOf } from '../../observe/step-record.js';
import { rewarding } from '../../step/step.test.helper.js';
import type { Probes } from '../../trace/index.js';
import { RunFolder } from '../folder/run-folder.js';
import { run } from '../run.test.helper.js';
import { Examination } from './examination.js';

async function examinationOf(every: number): Promise<Examination> {
  const { config } = resolveConfig({
    command: 'train',
    settings: ['task.name=arithmetic', 'model=m', `record.every=${every}`],
  });
  const record = { versions: {}, engine: { threads: 1 }, files: {}, seed: 0, values: {} };
  const folder = RunFolder.create(join(tempFolder(), 'run'), record);
  onTestFinished(() => folder.close());
  return Examination.after(0, config, folder);
}

describe('probes of a run', () => {
  // Of the first 40 steps: those that are probed, and those that are where trainer and sampler disagree.
  it.each([
    { every: 0, always: [1, 2], differing: 0 },
    { every: 1, always: [1, 2, 16, 32], differing: 36 },
    { every: 5, always: [1, 2, 20, 40], differing: 6 },
    { every: 20, always: [1, 2, 20, 40], differing: 0 },
  ])('with a record every $every steps: $always', async ({ every, always, differing }) => {
    const examination = await examinationOf(every);
    const steps = Array.from({ length: 40 }, (_, i) => i + 1);
    expect(steps.filter((step) => examination.probes(step) === true)).toEqual(always);
    expect(steps.filter((step) => examination.probes(step) === 'where they differ')).toHaveLength(differing);
  });
});

describe('findings of a run', () => {
  it('of an identity in the log come at its first row', async () => {
    const examination = await examinationOf(0);
    const lengths = {
      'completions/min_length': 7,
      'completions/mean_length': 5,
      'completions/max_length': 9,
    };
    const row = { step: 1, ...lengths } as unknown as MetricsRow;
    const { config } = resolveConfig({ command: 'train', settings: ['task.name=arithmetic', 'model=m'] });
    const { news } = examination.step(headOf({ config }, 1), row);
    expect(news).toEqual([expect.stringMatching(/^step 1: B59\.metrics warn: /)]);
  });

  it.each([
    ['are told to have ended where they are not made again', { merged: false }, 1],
    ['have not ended where nobody asks again', undefined, 0],
  ])('%s', async (_, later, ended) => {
    const examination = await examinationOf(0);
    const { config } = resolveConfig({ command: 'train', settings: ['task.name=arithmetic', 'model=m'] });
    const newsOf = (step: number, probes: Probes | undefined) =>
      examination.step({ ...headOf({ config }, step), ...(probes && { probes }) }).news;
    expect(newsOf(1, { merged: true })).toEqual([expect.stringContaining('B53.merged fail')]);
    const news = Array.from({ length: 12 }, (_, i) => newsOf(i + 2, later)).flat();
    expect(news.filter((text) => text.includes('B53.merged has ended'))).toHaveLength(ended);
  });

  const settings = ['train.steps=24', 'eval.before=false', 'train.canaries=0', 'checkpoint.every=5'];
  const constant = (output: string, resume = false) =>
    run({
      output,
      settings,
      stages: { score: rewarding(() => 0.5) },
      resume,
      ...(!resume && { stopAfter: 20 }),
    });

  it('of the log are told when they begin, and not again after a resume', async () => {
    const output = join(tempFolder(), 'run');
    const before = await constant(output);
    const after = await constant(output, true);
    const told = (notes: readonly string[]) => notes.filter((text) => text.includes('.log warn:'));
    expect(told(before.notes).length).toBeGreaterThan(0);
    expect(before.notes).toContainEqual(expect.stringMatching(/warn, which (may )?follows? from B\d\d\./));
    const codes = [...before.notes, ...after.notes].flatMap(
      (text) => /^step \d+: (B\S+) warn/.exec(text)?.[1] ?? [],
    );
    expect(new Set(codes).size).toBe(codes.length);
  });
});
