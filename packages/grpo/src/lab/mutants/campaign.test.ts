import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serialize } from 'node:v8';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { writeLabPolicy } from '../lab-policy.js';
import type { CampaignResult, Outcome } from './campaign.js';
import { applied, mutationsOf } from './operators.js';
import { tryIn } from './processes.js';
import { sourceLine } from './source-lines.js';
import { readSubjects } from './subjects.js';
import { campaignText, countsOf, fateOf } from './table.js';
import type { CleanRuns, MutantResult } from './trial-runs.js';

/** A mutant of a file: the first change of this operator whose original has these words. */
function mutantOf(path: string, operator: string, words: string) {
  const subject = readSubjects().find((one) => one.path === `packages/grpo/src/${path}.ts`)!;
  const mutation = mutationsOf(subject.text).find(
    (one) => one.operator === operator && subject.text.slice(one.start, one.end) === words,
  )!;
  return { subject, mutation, mutant: { url: subject.url, source: applied(subject.text, mutation) } };
}

describe('a trial', () => {
  const folder = mkdtempSync(join(tmpdir(), 'grpo-trial-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const request = {
    seed: 1,
    configuration: 2,
    model: join(folder, 'model'),
    baseline: join(folder, 'clean.v8'),
    result: join(folder, 'result'),
  };
  // Milliseconds. A little less than a test may take, so that a trial that hangs is reported as one.
  const limit = 110_000;
  const words = 'value - baselineOf(baseline, value, groupStatistics)';
  const { subject, mutation, mutant } = mutantOf('objective/advantage', 'wrong sign', words);
  const trialOf = (source: string) =>
    tryIn<MutantResult>({ ...request, kind: 'mutant', mutant: { ...mutant, source } }, { limit });

  let clean: CleanRuns;
  beforeAll(async () => {
    await writeLabPolicy(request.model, 1);
    const ended = await tryIn<CleanRuns>({ ...request, kind: 'baseline' }, { limit: 290_000 });
    expect(ended).toHaveProperty('result');
    clean = (ended as { result: CleanRuns }).result;
    writeFileSync(request.baseline, serialize(clean));
    // Ten runs.
  }, 300_000);

  it('finds nothing in clean runs', () => {
    expect(
      clean.verdicts.flatMap(({ stopped, failed }) => [...failed, ...(stopped ? [stopped] : [])]),
    ).toEqual([]);
  });

  it('stops a wrong sign of the advantage at its stage', async () => {
    expect(sourceLine(subject, mutation.start)).toBeGreaterThan(50);
    expect(await trialOf(mutant.source)).toMatchObject({
      result: { effect: 'wrong', verdict: { stopped: { step: 0, stage: 'advantage' } } },
    });
  });

  it('tells the error of a mutant that does not load', async () => {
    const broken = `${mutant.source}\nthrow new TypeError('broken');`;
    expect(await trialOf(broken)).toEqual({ crash: 'TypeError: broken' });
  });

  it('keeps a file that a mutant writes by mistake in the folder of trials', async () => {
    const astray = `${mutant.source}\nimport { writeFileSync } from 'node:fs';\nwriteFileSync('astray', '');`;
    expect(await trialOf(`${astray}\nthrow new TypeError('broken');`)).toHaveProperty('crash');
    expect(existsSync(join(folder, 'astray'))).toBe(true);
  });

  it('has no effect where the source is as it was', async () => {
    expect(await trialOf(subject.text)).toEqual({ result: { effect: 'none' } });
  });
});

describe('the table', () => {
  const verdict = { failed: [], warned: [] };
  const outcome = (more: Partial<Outcome>): Outcome => ({
    index: 0,
    place: 'a.ts:1',
    stages: ['loss', 'kl'],
    operator: 'half',
    original: '2',
    mutated: '1',
    configuration: 0,
    effect: 'wrong',
    verdict,
    ...more,
  });
  const stopped = (stage: 'kl' | 'reward') => ({
    ...verdict,
    stopped: { step: 1, code: 'B46.beta' as const, stage },
  });
  const result: CampaignResult = {
    seed: 1,
    configurations: [],
    sites: 99,
    clean: [{ verdicts: [{ failed: [], warned: ['B08.log'] }] } as unknown as CleanRuns],
    outcomes: [
      outcome({ verdict: stopped('kl') }),
      outcome({ verdict: stopped('reward') }),
      outcome({ verdict: { ...verdict, failed: ['B33.recompute'] } }),
      outcome({ verdict: { ...verdict, warned: ['B08.log', 'B16.log'] } }),
      outcome({ place: 'silent.ts:9', verdict: { ...verdict, warned: ['B08.log'] } }),
      outcome({ effect: 'none' }),
      outcome({ effect: 'crashed', crash: 'no words' }),
      outcome({ effect: 'another draw' }),
    ],
  };

  it('counts what became of the mutants', () => {
    expect(result.outcomes.slice(0, 5).map((one) => fateOf(one, result))).toEqual([
      'stopped at its stage',
      'stopped elsewhere',
      'failed afterwards',
      'warned',
      'silent',
    ]);
    expect(countsOf(result)).toMatchObject({ drawn: 8, wrong: 5, none: 1, crashed: 1, anotherDraw: 1 });
    expect(countsOf(result)).toMatchObject({ cleanSteps: 20, falseFailures: 0 });
  });

  it('lists what was not stopped', () => {
    const text = campaignText(result);
    expect(text).toMatch(/stopped +2 +40\.0 %/);
    expect(text).toContain('#0 silent.ts:9 half: 2 → 1 | B08.log~');
  });
});
