import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AdamW } from '@grpo/torch';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../../formats/temp-folder.test.helper.js';
import { stages } from '../../step/stages.js';
import { openRun, type Run } from '../open-run.js';
import { halfOfTheTokens, resolvedRun } from '../run.test.helper.js';
import { tinyModelFolder } from '../tiny-model.test.helper.js';
import { trainExpert } from '../train-expert.js';
import { trainSft } from '../train-sft.js';

/** A run of three steps, changed after it was opened. */
async function ran(
  command: 'sft' | 'expert',
  settings: readonly string[] = [],
  change: (run: Run) => Run = (run) => run,
) {
  const output = join(tempFolder(), 'run');
  const own = { sft: ['sft.steps=3'], expert: ['expert.iterations=3', 'expert.threshold=0.4'] };
  const all = [`model=${await tinyModelFolder()}`, ...own[command]];
  const notes: string[] = [];
  const watcher = { note: (text: string) => notes.push(text) };
  const resolved = resolvedRun({ command, output, settings: [...all, ...settings] });
  await using run = await openRun(resolved, { watcher });
  const changed = change(run);
  const end = await (command === 'sft'
    ? trainSft(changed)
    : trainExpert(changed, { score: halfOfTheTokens }));
  const path = join(output, 'findings.jsonl');
  const findings = existsSync(path) ? readFileSync(path, 'utf8') : '';
  return { end, notes, findings, steps: run.progress.step };
}

/** Another update than the one that is asked for. */
const withStep =
  (step: (real: AdamW, rate: number, maxNorm: number) => ReturnType<AdamW['step']>) =>
  (run: Run): Run => {
    const optimizer = new Proxy(run.optimizer, {
      get(real, key) {
        if (key === 'step') return (rate: number, maxNorm: number) => step(real, rate, maxNorm);
        const value = Reflect.get(real, key, real) as unknown;
        return typeof value === 'function' ? value.bind(real) : value;
      },
    });
    return { ...run, optimizer };
  };

describe.each(['sft', 'expert'] as const)('the steps of %s', (command) => {
  it.each([
    [[]],
    [['dtype=bfloat16', 'lora.rank=2']],
    [['optimizer.warmupSteps=2', 'optimizer.schedule=cosine', 'sft.batchSize=2']],
  ])('hold: %s', async (settings) => {
    const { end, notes, findings, steps } = await ran(command, ['doctor.onFinding=stop', ...settings]);
    expect(end.stopped).toBeUndefined();
    expect(notes.filter((text) => /H\d\d/.test(text))).toEqual([]);
    expect(findings).toBe('');
    expect(steps).toBe(3);
  });

  it('end with an update of another size', async () => {
    const twice = withStep((real, rate, maxNorm) => real.step(2 * rate, maxNorm));
    const { end, notes, findings } = await ran(command, [], twice);
    expect(end.stopped).toMatchObject({ code: 'H07.audit', severity: 'fail' });
    expect(notes).toContainEqual(
      expect.stringMatching(
        /^step 1: H07\.audit fail: The move of all weights, as a share of the declared one, is 2; /,
      ),
    );
    expect(findings).toContain('"code":"H07.audit"');
  });

  it('end with an evaluation that does not hold', async () => {
    const hot = (run: Run): Run => ({
      ...run,
      sample: (model, requests, ...rest) =>
        stages.sample(
          model,
          requests.map((one) =>
            one.keys[0] === -1 ? { ...one, temperatures: one.temperatures?.map(() => 1) } : one,
          ),
          ...rest,
        ),
    });
    expect((await ran(command, [], hot)).end.stopped).toMatchObject({ code: 'H14.audit' });
  });

  it('are not examined where nothing is', async () => {
    const twice = withStep((real, rate, maxNorm) => real.step(2 * rate, maxNorm));
    for (const setting of ['doctor.every=0', 'doctor.onFinding=off'])
      expect((await ran(command, [setting], twice)).end.stopped).toBeUndefined();
  });
});

describe('a round of expert iteration', () => {
  it('ends with completions that are drawn from another distribution', async () => {
    const hot = (run: Run): Run => ({
      ...run,
      sample: (model, requests, options, ...rest) =>
        stages.sample(model, requests, { ...options, temperature: options.temperature * 2 }, ...rest),
    });
    const { end } = await ran('expert', ['eval.before=false'], hot);
    expect(end.stopped).toMatchObject({ code: 'H02.audit' });
  });
});
