import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { richRecord } from '../../grpo/dist/doctor/rich-record.test.helper.js';
import { type StepRecord, writeStepRecord } from '../../grpo/dist/trace/index.js';
import { CHROMIUM, OpenStudio } from './browser.test.helper.js';
import { HOSTILE } from './hostile-texts.test.helper.js';

/** Completions of a record of the helper. */
const B = 24;
const STEPS = Math.ceil(HOSTILE.length / B);

/** A record in which whatever is text is hostile, the completions first. */
function hostileRecord(step: number): StepRecord {
  const record = richRecord({ step: 1, seed: step });
  const from = (step - 1) * B;
  const text = (i: number) => HOSTILE[(from + i) % HOSTILE.length]!;
  // Of the longest there is one of each: a name of ten megabytes is no name.
  const short = (i: number) => text(i).slice(0, 300);
  const own = Array.from({ length: B }, (_, b) => text(b));
  const names = record.rewards!.names!.map((_, k) => short(k));
  const special = Object.keys(record.tokenizer?.specialTokens ?? { 0: '' });
  return {
    ...record,
    step,
    producer: { name: short(3), version: short(4) },
    tokenizer: {
      ...record.tokenizer,
      specialTokens: Object.fromEntries(special.map((id, i) => [id, short(i)])),
    },
    prompts: {
      ...record.prompts,
      texts: record.prompts!.texts!.map((_, i) => short(i)),
      answers: record.prompts!.texts!.map((_, i) => short(i + 1)),
      spans: Array.from(record.prompts!.lengths!, (length, i) => [
        { kind: 'prompt', start: 0, end: length },
        { kind: 'message', role: short(i), start: 0, end: length },
      ]),
    },
    completions: { ...record.completions, texts: own, sampledTexts: own.map((one) => `${one}.`) },
    rewards: {
      ...record.rewards,
      names,
      rules: names.map(() => own.map((_, b) => short(b))),
      parts: names.map((reward, k) => ({ reward, part: short(k + 9), values: record.rewards!.totals! })),
      failures: [{ reward: names[0]!, completion: 0, reason: short(5) }],
      replies: own,
    },
    stages: [{ name: short(6), seconds: 1 }],
  };
}

describe.skipIf(!CHROMIUM)('hostile text of a run', () => {
  const name = '<img src=x onerror=window.ran=1>%2e%2e&"\'#?';
  const studio = new OpenStudio((folder) => {
    const run = join(folder, name);
    mkdirSync(run);
    const rows = Array.from({ length: STEPS }, (_, i) => ({
      step: i + 1,
      reward: 0.5,
      [`rewards/${HOSTILE[i]!}`]: 1,
      // Those that hide or reorder text.
      [HOSTILE[i + 70]!]: 2,
    }));
    writeFileSync(join(run, 'metrics.jsonl'), rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
    writeFileSync(join(run, 'config.json'), JSON.stringify({ format: HOSTILE[0], values: {} }));
    for (let step = 1; step <= STEPS; step++)
      writeStepRecord(join(run, 'steps', String(step).padStart(6, '0')), hostileRecord(step));
  });

  const id = encodeURIComponent(`/runs/${name}`);
  const steps = Array.from({ length: STEPS }, (_, i) => i + 1);
  const views = [
    '#/',
    `#/run/${id}`,
    `#/run/${id}/findings`,
    ...steps.flatMap((step) => [
      `#/run/${id}/step/${step}`,
      `#/run/${id}/step/${step}/loss`,
      ...Array.from({ length: B }, (_, b) => `#/run/${id}/step/${step}/completion/${b}`),
    ]),
    `#/compare?run=${id}&step=${STEPS - 1}&with=${id}&withStep=${STEPS}`,
  ];

  /** Everything in a page that no view makes, and a layout that is wider than the window. */
  const harm = (page: Page) =>
    page.evaluate(() => ({
      ran: (globalThis as { ran?: number }).ran ?? 0,
      // The page's own script is the one that there may be.
      strange: [
        ...document.querySelectorAll(
          'script, iframe, object, embed, img, form, base, meta[http-equiv], marquee',
        ),
      ].filter((one) => !one.matches('script[src$="page.js"]')).length,
      scripted: [...document.querySelectorAll('*')].filter((one) =>
        one.getAttributeNames().some((attribute) => attribute.startsWith('on')),
      ).length,
      // Every text of a run is shown with its unseen characters as marks.
      unseen: [...document.querySelectorAll('body, body *')]
        .flatMap((one) => [
          ...['title', 'aria-label', 'placeholder'].map((attribute) => one.getAttribute(attribute) ?? ''),
          ...[...one.childNodes].map((node) => (node.nodeType === Node.TEXT_NODE ? node.nodeValue! : '')),
        ])
        .filter((text) => /[^\P{C}\n\t\p{Cs}\p{Co}\p{Cn}]/u.test(text))
        .map((text) => text.slice(0, 60)),
      links: [...document.links].filter(({ href }) => !href.startsWith(location.origin)).length,
      wider:
        document.documentElement.scrollWidth > innerWidth + 1
          ? [...document.querySelectorAll('main *')]
              .filter((one) => one.getBoundingClientRect().right > innerWidth + 1)
              // What scrolls may hold more than is seen.
              .filter((one) => getComputedStyle(one.parentElement!).overflowX === 'visible')
              .map(({ tagName, className }) => `${tagName}.${className}`)
              .slice(0, 8)
          : [],
    }));

  it('neither runs nor breaks the layout, in any view', async () => {
    expect(HOSTILE.length).toBeGreaterThanOrEqual(100);
    for (const width of [1280, 390]) {
      const page = await studio.browser.open(studio.urlOf('#/'), { viewport: { width, height: 900 } });
      const asked: string[] = [];
      page.on('request', (request) => asked.push(request.url()));
      // A narrow page sees every text in its step, and some as tokens.
      for (const view of views.filter((one) => width > 400 || !/completion\/\d*[1-9]$/.test(one))) {
        // The new view is drawn two frames after its address has changed.
        await page.evaluate(async (hash) => {
          location.hash = hash;
          await new Promise((resolve) => setTimeout(resolve));
          await new Promise(requestAnimationFrame);
          await new Promise(requestAnimationFrame);
        }, view);
        await page.waitForFunction(() => !document.querySelector('main .waiting'), undefined, {
          timeout: 20_000,
        });
        expect(await harm(page), `${view} at ${width}`).toEqual({
          ran: 0,
          strange: 0,
          scripted: 0,
          unseen: [],
          links: 0,
          wider: [],
        });
      }
      // The worker is a blob of the page.
      expect(asked.filter((url) => new URL(url).origin !== new URL(studio.urlOf('')).origin)).toEqual([]);
      await page.context().close();
    }
  }, 300_000);

  it('is shown as what it is', async () => {
    const page = await studio.browser.open(studio.urlOf(`#/run/${id}/step/1`));
    await page.getByText('<script>window.ran=1</script>', { exact: false }).first().waitFor();
    expect(await page.textContent('body')).toContain('<img src=x onerror="window.ran=1">');
  });
});
