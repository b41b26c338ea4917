// The pictures of docs/studio.md.
//   node bench/studio-images.mjs FOLDER RUN STEP COMPLETION ONE OTHER
// FOLDER/RUN is a run; ONE and OTHER are runs in FOLDER whose first steps have the same prompts.
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Chromium, StudioServer } from '../packages/studio/build/browser.test.helper.js';

const [folder, run, step, completion, one, other] = process.argv.slice(2);
const images = fileURLToPath(new URL('../docs/images/', import.meta.url));
const pathOf = (name) => `/${basename(folder)}/${name}`;
const at = `#/run/${encodeURIComponent(pathOf(run))}`;
const VIEWS = {
  runs: '#/',
  curves: at,
  step: `${at}/step/${step}`,
  completion: `${at}/step/${step}/completion/${completion}?token=9`,
  loss: `${at}/step/${step}/loss`,
  findings: `${at}/findings`,
  compare: `#/compare?${new URLSearchParams({ run: pathOf(one), step: 1, with: pathOf(other), withStep: 1 })}`,
  doctor: '#/doctor',
};

const browser = await Chromium.launch();
const server = await StudioServer.start(folder);
for (const [view, hash] of Object.entries(VIEWS)) {
  const page = await browser.open(new URL(hash, server.url).href, { colorScheme: 'light' });
  await page.waitForFunction(() => document.querySelector('main') && !document.querySelector('.waiting'));
  await page.waitForTimeout(2000);
  await page.screenshot({ path: join(images, `studio-${view}.png`) });
  await page.context().close();
}
for (const problem of browser.problems) console.log(`problem: ${problem}`);
server[Symbol.dispose]();
await browser[Symbol.asyncDispose]();
