import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { serialize } from 'node:v8';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../../formats/temp-folder.test.helper.js';
import type { CampaignResult, Outcome } from './campaign.js';
import { applied, mutationsOf } from './operators.js';
import { tryIn } from './processes.js';
import { writeSmallModel } from './small-model.js';
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
  const baselineIn = (folder: string) => join(folder, 'clean.v8');
  const request = (folder: string) => ({
    seed: 1,
    configuration: 2,
    model: join(folder, 'model'),
    baseline: baselineIn(folder),
    result: join(folder, 'result'),
  });
  it('finds nothing in clean runs, and stops a wrong sign of the advantage at its stage', async () => {
    const folder = tempFolder();
    await writeSmallModel(join(folder, 'model'), 1);
    const ended = await tryIn<CleanRuns>({ ...request(folder), kind: 'baseline' }, { limit: 300_000 });
    const { result: clean } = ended as { result: CleanRuns };
    expect(
      clean.verdicts.flatMap(({ stopped, failed }) => [...failed, ...(stopped ? [stopped] : [])]),
    ).toEqual([]);
    writeFileSync(baselineIn(folder), serialize(clean));

    const words = 'value - baselineOf(baseline, value, groupStatistics)';
    const { subject, mutation, mutant } = mutantOf('objective/advantage', 'wrong sign', words);
    expect(sourceLine(subject, mutation.start)).toBeGreaterThan(50);
    const sick = await tryIn<MutantResult>({ ...request(folder), kind: 'mutant', mutant });
    expect(sick).toMatchObject({
      result: { effect: 'wrong', verdict: { stopped: { step: 0, stage: 'advantage' } } },
    });

    const broken = { ...mutant, source: `${mutant.source}\nthrow new TypeError('broken');` };
    const crashed = await tryIn({ ...request(folder), kind: 'mutant', mutant: broken });
    expect(crashed).toEqual({ crash: 'TypeError: broken' });

    const same = { ...mutant, source: subject.text };
    const nothing = await tryIn({ ...request(folder), kind: 'mutant', mutant: same });
    expect(nothing).toEqual({ result: { effect: 'none' } });
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
