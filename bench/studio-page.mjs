// How soon a view of the page is there, and whether scrolling stalls, in a real browser over `grpo studio`.
//   node bench/studio-page.mjs FOLDER ADDRESS…      ADDRESS: '#/run/…/step/1'; without one, the list of runs
// A large step to look at: node bench/studio.mjs 1024 8000 FOLDER/run/steps/000001
import { Chromium, StudioServer } from '../packages/studio/build/browser.test.helper.js';

const [folder, ...addresses] = process.argv.slice(2);
const SECONDS = 5;

/** The longest gap between two frames, and the 99th percentile, while the largest list is scrolled to and fro. */
async function scrolled(page) {
  return page.evaluate(async (seconds) => {
    const lists = [...document.querySelectorAll('*')].filter(
      (one) => one.scrollHeight > one.clientHeight + 50,
    );
    const list = lists.sort((a, b) => b.scrollHeight - a.scrollHeight)[0] ?? document.scrollingElement;
    const gaps = [];
    const end = performance.now() + 1000 * seconds;
    let last = performance.now();
    let speed = 120;
    while (last < end) {
      if (list.scrollTop + list.clientHeight >= list.scrollHeight - 2) speed = -120;
      list.scrollTop += speed;
      const now = await new Promise(requestAnimationFrame);
      gaps.push(now - last);
      last = now;
    }
    gaps.sort((a, b) => a - b);
    return {
      frames: gaps.length,
      p99: gaps[Math.floor(0.99 * gaps.length)],
      worst: gaps.at(-1),
      height: list.scrollHeight,
    };
  }, SECONDS);
}

const browser = await Chromium.launch();
const server = await StudioServer.start(folder);
for (const address of addresses.length > 0 ? addresses : ['#/']) {
  const start = performance.now();
  const page = await browser.open(new URL(address, server.url).href);
  await page.waitForFunction(() => {
    const main = document.querySelector('main');
    return main && main.textContent.length > 200 && !main.querySelector(':scope > .waiting');
  });
  const first = (performance.now() - start) / 1000;
  const { frames, p99, worst, height } = await scrolled(page);
  console.log(
    `${address}: first paint ${first.toFixed(2)} s; scrolling ${height} px: ${(frames / SECONDS).toFixed(0)} frames/s, 99 % within ${p99.toFixed(0)} ms, longest ${worst.toFixed(0)} ms`,
  );
  await page.context().close();
}
for (const problem of browser.problems) console.log(`problem: ${problem}`);
server[Symbol.dispose]();
await browser[Symbol.asyncDispose]();
