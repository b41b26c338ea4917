import { createReadStream, mkdirSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rookworldLog } from '../../grpo/dist/cli/doctor/seed-logs.test.helper.js';
import { call } from '../../grpo/dist/cli/grpo.test.helper.js';
import { richRecord } from '../../grpo/dist/doctor/rich-record.test.helper.js';
import { writeStepRecord } from '../../grpo/dist/trace/index.js';
import { CHROMIUM, useBrowser } from './browser.test.helper.js';

/** A static file server; one that knows no ranges sends whole files, as Python's does. */
function serve(folder: string, knowsRanges: boolean): Promise<Server> {
  const server = createServer(({ url, headers }, answer) => {
    const file = join(
      folder,
      decodeURIComponent(new URL(url!, 'http://x').pathname).replace(/\/$/, '/index.html'),
    );
    const range = knowsRanges ? /bytes=(\d+)-(\d+)/.exec(headers.range ?? '') : null;
    const [start, end] = range ? [Number(range[1]), Math.min(Number(range[2]), statSync(file).size - 1)] : [];
    if (file.endsWith('.html')) answer.setHeader('content-type', 'text/html');
    answer.statusCode = range ? 206 : 200;
    createReadStream(file, range ? { start: start!, end: end! } : {}).pipe(answer);
  });
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
}

describe.skipIf(!CHROMIUM)('a bundle in a browser', () => {
  const { browser, folder: dir } = useBrowser();
  beforeAll(() => {
    mkdirSync(join(dir, 'logs'));
    const sick = rookworldLog({ miss: () => -5 });
    writeFileSync(join(dir, 'logs/a #1.log'), sick);
    writeFileSync(join(dir, 'logs/b.log'), rookworldLog({ miss: () => 0 }));
    const advantages = richRecord().advantages!.map((value, b) => (b === 9 ? 40 : value));
    writeStepRecord(join(dir, 'record'), { ...richRecord(), advantages });
  });
  afterAll(() => expect(browser.problems).toEqual([]));

  it('opens by a double-click at the report, and asks nobody', async () => {
    const { code } = await call(dir, 'doctor', 'logs/a #1.log', '--html', 'report.html');
    expect(code).toBe(1);
    const page = await browser.open(`file://${join(dir, 'report.html')}`);
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    await page.getByText('At step 1 the policy gives its own completions').first().waitFor();
    await page.locator('.findings-figure').first().waitFor();
    expect(await page.locator('article').first().getAttribute('id')).toBe('B38.likelihood');
    await page.reload();
    await page.getByText('At step 1 the policy gives its own completions').first().waitFor();
    expect(asked.filter((url) => /^(https?|ws):/.test(url))).toEqual([]);
    const refused = await page.evaluate(() => fetch('https://example.com').catch((error) => String(error)));
    expect(refused).toContain('TypeError');
    browser.problems.splice(0);
  });

  it('of one step leads nowhere but into the step', async () => {
    await call(dir, 'step', 'record', '--html', 'step.html');
    const page = await browser.open(`file://${join(dir, 'step.html')}`);
    const trail = page.getByRole('navigation', { name: 'where you are' });
    await page.getByRole('heading', { name: 'Step 1' }).waitFor();
    expect(await trail.getByRole('link').allTextContents()).toEqual(['step 1']);
    await page.keyboard.press('u');
    await page.keyboard.press('j');
    await page.locator('.step-card[aria-current]').waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Completion 0.0' }).waitFor();
    expect(await trail.getByRole('link').allTextContents()).toEqual(['step 1', 'completion']);
    await page.keyboard.press('u');
    await page.getByRole('heading', { name: 'Step 1' }).waitFor();
  });

  it('links a finding to the token that it cites, and back', async () => {
    await call(dir, 'studio', '--bundle', 'record-bundle', 'record');
    const page = await browser.open(
      `file://${join(dir, 'record-bundle/index.html')}#/run/%2Frecord/findings?code=B47.policy`,
    );
    const chosen = page.locator('article[aria-current="true"]');
    await chosen.waitFor();
    expect(await chosen.getAttribute('id')).toBe('B47.policy');
    const places = await page
      .locator('a[href*="completion"]')
      .evaluateAll((all) => all.map((a) => a.getAttribute('href')));
    const place = '#/run/%2Frecord/step/1/completion/9?token=0&finding=B47.policy';
    expect(places).toContain(place);
    await page.goto(`${page.url().split('#')[0]}${place}`);
    await page.getByRole('link', { name: 'B47.policy', exact: true }).click();
    await chosen.waitFor();
    await page.getByText(/Checks that could not be made: \d+/).click();
    await page.getByText('no: needs').first().waitFor();
  });

  it.each([true, false])(
    'reads large data from a static server (ranges: %s), and says so without one',
    async (ranges) => {
      const out = join(dir, `large-${ranges}`);
      const large = join(dir, 'large');
      mkdirSync(join(large, 'completions'), { recursive: true });
      writeFileSync(join(large, 'run.log'), rookworldLog({ miss: () => -5 }));
      // A table that nobody reads makes it large.
      writeFileSync(join(large, 'completions/other.parquet'), '');
      truncateSync(join(large, 'completions/other.parquet'), 2 ** 28);
      const { out: said } = await call(dir, 'studio', '--bundle', out, 'large');
      expect(said).toContain('any static file server');
      const server = await serve(out, ranges);
      const place = '#/run/%2Flarge%2Frun.log/findings';
      const page = await browser.open(`http://127.0.0.1:${(server.address() as AddressInfo).port}/${place}`);
      await page.getByText('At step 1 the policy gives its own completions').first().waitFor();
      server.close();
      const alone = await browser.open(`file://${join(out, 'index.html')}`);
      await alone.getByText('too large for one page').waitFor();
      rmSync(out, { recursive: true });
    },
  );

  it('takes a file and a folder, and says what it cannot read', async () => {
    await call(dir, 'studio', '--bundle', 'doctor-page');
    const page = await browser.open(`file://${join(dir, 'doctor-page/index.html')}`);
    await page.getByText('Nothing is sent anywhere').waitFor();
    const choose = (label: string, path: string) =>
      page.locator(`input[aria-label="${label}"]`).setInputFiles(path);
    await choose('Choose files', join(dir, 'logs/a #1.log'));
    await page.getByText('At step 1 the policy gives its own completions').first().waitFor();
    expect(page.url()).toContain('#/run/%2Fa%20%231.log/findings');
    await page.goto(`${page.url().split('#')[0]}#/doctor`);
    // The page before it has the same fields.
    await page.getByText('Nothing is sent anywhere').waitFor();
    await choose('Choose a folder', join(dir, 'logs'));
    await page.getByText('2 runs').waitFor();
    await page.locator('.doctor-verdict').nth(1).waitFor();
    writeFileSync(join(dir, 'weights.bin'), new Uint8Array(5000));
    await choose('Choose files', join(dir, 'weights.bin'));
    await page.getByText('this is a binary file').waitFor();
  });

  it.each([
    ['a file', 'logs/a #1.log', 'At step 1 the policy gives its own completions'],
    ['a folder', 'logs', '2 runs'],
  ])('takes %s that is dropped', async (_, name, text) => {
    const page = await browser.open(`file://${join(dir, 'doctor-page/index.html')}`);
    await page.getByText('Nothing is sent anywhere').waitFor();
    const session = await page.context().newCDPSession(page);
    const data = { items: [], files: [join(dir, name)], dragOperationsMask: 1 };
    for (const type of ['dragEnter', 'dragOver', 'drop'] as const)
      await session.send('Input.dispatchDragEvent', { type, x: 300, y: 300, data });
    await page.getByText(text).first().waitFor();
  });

  it('takes a file that lies nowhere', async () => {
    const page = await browser.open(`file://${join(dir, 'doctor-page/index.html')}`);
    await page.getByText('Nothing is sent anywhere').waitFor();
    const transfer = await page.evaluateHandle(
      (content) => {
        const made = new DataTransfer();
        made.items.add(new File([content], 'run.log'));
        return made;
      },
      rookworldLog({ miss: () => -5 }),
    );
    await page.dispatchEvent('h1', 'drop', { dataTransfer: transfer });
    await page.getByText('At step 1 the policy gives its own completions').first().waitFor();
  });
});
