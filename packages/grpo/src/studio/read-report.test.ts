import { join } from 'node:path';
import { expect, it } from 'vitest';
import { rookworldLog } from '../cli/doctor/seed-logs.test.helper.js';
import { richRecord } from '../doctor/rich-record.test.helper.js';
import { folderOf, tempFolder } from '../formats/temp-folder.test.helper.js';
import { writeStepRecord } from '../trace/index.js';
import { Studio } from './studio.js';

const report = (path: string) => new Studio([path]).answer('report', { run: path });

it('tells the cause of a log, with its metrics, and survives being sent to a page', async () => {
  const path = join(folderOf({ 'run.log': rookworldLog({ miss: () => -5 }) }), 'run.log');
  const answer = await report(path);
  expect(structuredClone(answer)).toEqual(answer);
  const { cause, links, checks } = answer;
  expect(cause!.says).toContain('At step 1 the policy gives its own completions');
  expect(cause!.metrics).toContain('sequence_logprob_reference');
  expect(cause!.places[0]).toMatchObject({ step: 1, metric: 'sequence_logprob' });
  expect(links[0]!.finding).toEqual(cause!.finding);
  const told = [cause!, ...cause!.signs, ...answer.sections.flatMap(({ findings }) => findings)];
  expect(new Set(told.map(({ finding }) => finding.code))).toEqual(
    new Set(links.map(({ finding }) => finding.code)),
  );
  expect(checks.find(({ code }) => code === cause!.finding.code)).toMatchObject({
    verdict: 'warn',
    judged: 1,
  });
  expect(checks.some(({ judged, missing }) => judged === 0 && missing.length > 0)).toBe(true);
});

it('points to the token of a record, and to no metric', async () => {
  const record = richRecord({ step: 3, seed: 1 });
  const advantages = record.advantages!.slice();
  advantages[9] = 40;
  const folder = tempFolder();
  writeStepRecord(folder, { ...record, advantages });
  const places = (await report(folder)).links.flatMap((link) => link.places);
  expect(places).toContainEqual({
    text: 'step 3, completion 2.1, token 0: update 1, term 0.5, expected -40, ratio 1, advantage 40',
    ...{ step: 3, completion: 9, token: 0 },
  });
  expect(places.every(({ metric }) => metric === undefined)).toBe(true);
});

it('points to curves where evidence names a reward, or there is none', async () => {
  const rows = Array.from({ length: 60 }, (_, i) => ({
    step: i + 1,
    reward: 0.2 + 0.001 * Math.sin(i),
    'rewards/right/mean': 0.2 + 0.001 * Math.sin(i),
    'rewards/tags/mean': 0,
    'rewards/tags/std': 0,
    loss: 0.1,
    'sampling/sampling_logp_difference/mean': 0.5 + 0.01 * Math.sin(i),
  }));
  const log = join(
    folderOf({ 'log.jsonl': rows.map((row) => `${JSON.stringify(row)}\n`).join('') }),
    'log.jsonl',
  );
  const { links } = await report(log);
  const placesOf = (code: string) => links.find(({ finding }) => finding.code === code)?.places;
  expect(placesOf('B28.log')).toMatchObject([{ step: 1, metric: 'rewards/tags/mean' }]);
  const gap = 'sampling/sampling_logp_difference/mean';
  expect(placesOf('B39.log')).toEqual([{ text: gap, metric: gap }]);
});
