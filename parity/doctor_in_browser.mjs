// The findings of the page in a browser, held to those of `grpo doctor`, on every file and folder at some paths.
//   node parity/doctor_in_browser.mjs PATH... [--each]
// With --each, every entry of a folder is a case of its own. A folder without files cannot be given to a page.
import { readdirSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Chromium } from '../packages/studio/build/browser.test.helper.js';
import { JudgingPage, toldByDoctor } from '../packages/studio/build/judging-page.test.helper.js';

const isEach = process.argv.includes('--each');
const given = process.argv
  .slice(2)
  .filter((word) => word !== '--each')
  .map((path) => resolve(path));
const cases = given.flatMap((path) =>
  isEach && statSync(path).isDirectory() ? readdirSync(path).map((name) => join(path, name)) : [path],
);
const isEmpty = (path) => statSync(path).isDirectory() && readdirSync(path, { recursive: true }).length === 0;
const browser = await Chromium.launch();
const page = await JudgingPage.open(browser);
let [runs, findings, errors, different] = [0, 0, 0, 0];
for (const path of cases.filter((one) => !isEmpty(one))) {
  const expected = await toldByDoctor(path);
  const actual = await page.judge(path, expected.length).catch((error) => [String(error)]);
  for (const [i, told] of expected.entries()) {
    runs++;
    const { findings: found, message } = JSON.parse(told);
    findings += found?.length ?? 0;
    errors += message === undefined ? 0 : 1;
    if (told === actual[i]) continue;
    different++;
    const at = [...told].findIndex((char, k) => char !== actual[i]?.[k]);
    const around = (text = '') => text.slice(Math.max(0, at - 80), at + 120);
    console.log(`${path}, run ${i + 1}\n  doctor  …${around(told)}\n  browser …${around(actual[i])}`);
  }
}
console.log(
  `${cases.length} paths, ${runs} runs, ${findings} findings, ${errors} errors: ${different} differ`,
);
for (const problem of browser.problems) console.log(`the page says: ${problem}`);
await browser[Symbol.asyncDispose]();
process.exitCode = different > 0 ? 1 : 0;
