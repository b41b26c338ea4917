import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { argenLogs, nanoGptLog, rookworldLog } from '../../grpo/dist/cli/doctor/seed-logs.test.helper.js';
import {
  cs336Completions,
  cs336Log,
  dualConsole,
  dualTable,
} from '../../grpo/dist/cli/doctor/seed-tables.test.helper.js';
import { rightRecords } from '../../grpo/dist/doctor/diffusion-record.test.helper.js';
import { richRecord } from '../../grpo/dist/doctor/rich-record.test.helper.js';
import { folderOf } from '../../grpo/dist/formats/temp-folder.test.helper.js';
import { writeStepRecord } from '../../grpo/dist/trace/index.js';
import { event, history, wandbLog } from '../../grpo/dist/trace/readers/binary-logs.test.helper.js';
import { lines, TRL_RUN } from '../../grpo/dist/trace/readers/files.test.helper.js';
import { CHROMIUM, useBrowser } from './browser.test.helper.js';
import { JudgingPage, toldByDoctor } from './judging-page.test.helper.js';

const rows = [1, 2, 3, 4, 5, 1, 2].map((step) => ({
  step,
  reward: step === 3 ? Number.NaN : step / 9,
  loss: 0,
}));
const python = (value: object) => JSON.stringify(value).replaceAll('"', "'").replaceAll('null', 'nan');
const sick = rookworldLog({ miss: () => -5 });

/** A file, or a folder where the name ends in a slash. */
const FILES: Readonly<Record<string, string | Uint8Array | Readonly<Record<string, string | Uint8Array>>>> = {
  'rookworld.log': sick,
  'nano.log': nanoGptLog({}),
  'cs336.jsonl': cs336Log({ format: () => 0.5, answer: () => 0.1 }),
  'completions.jsonl': cs336Completions({ keepsStop: false }),
  'dual.csv': dualTable({ kl: (step) => 0.002 * (step - 1) }),
  'dual.log': dualConsole({ entropy: (step) => 1 / step }),
  'argen/': argenLogs({
    reward: () => 0.5,
    deviationOf: () => 0,
    gradient: () => 0,
    clipped: () => 1,
    loss: () => 0,
  }),
  'packed.log.gz': gzipSync(sick),
  'wide.log': Buffer.from(`\ufeff${sick}`, 'utf16le'),
  'broken-utf8.log': Buffer.concat([Buffer.from([0xff, 0xfe, 0xfd, 10]), Buffer.from(sick)]),
  'python.log': rows.map(python).join('\n'),
  'several.jsonl': lines(rows),
  'events.out.tfevents.1': Buffer.concat([1, 2, 3].map((step) => event(step, 'train/reward', step / 4))),
  'run.wandb': wandbLog([1, 2, 3].map((step) => history(step, { reward: step / 4, loss: 0.1 }))),
  'empty.log': '',
  'weights.bin': new Uint8Array(5000),
  'nothing/': { 'model.bin': new Uint8Array(3) },
  'sweep/': { 'a/run.log': sick, 'b/run.log': nanoGptLog({}), 'b/tokenizer.json': '{}' },
};

describe.skipIf(!CHROMIUM)('the page judges as `grpo doctor` does', () => {
  const { browser, folder } = useBrowser();
  let page: JudgingPage;
  beforeAll(async () => {
    page = await JudgingPage.open(browser);
  });
  afterAll(() => expect(browser.problems).toEqual([]));

  const expectSame = async (path: string) => {
    const told = await toldByDoctor(path);
    expect(await page.judge(path, told.length)).toEqual(told);
    return told;
  };

  it.each(Object.keys(FILES))('%s', async (name) => {
    const content = FILES[name]!;
    const isFolder = name.endsWith('/');
    await expectSame(
      isFolder
        ? folderOf(content as Record<string, string>)
        : join(folderOf({ [name]: content as string }), name),
    );
  });

  it('a folder of TRL with tables and pickled settings', async () => {
    const [told] = await expectSame(fileURLToPath(TRL_RUN).replace(/\/$/, ''));
    expect(JSON.parse(told!).findings.length).toBeGreaterThan(0);
  });

  it('records, of which one has a fault', async () => {
    const record = richRecord({ step: 2 });
    const advantages = record.advantages!.map((value, b) => (b === 9 ? 40 : value));
    const all = [
      richRecord(),
      { ...record, advantages },
      ...rightRecords().map((one, i) => ({ ...one, step: 3 + i })),
    ];
    for (const one of all) writeStepRecord(join(folder, 'records', String(one.step)), one);
    const [told] = await expectSame(join(folder, 'records'));
    expect(JSON.parse(told!).findings[0]).toMatchObject({ severity: 'fail', steps: [2] });
  });
});
