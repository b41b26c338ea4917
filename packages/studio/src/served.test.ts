import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { CHROMIUM, StudioServer, useBrowser } from './browser.test.helper.js';

const STEP = '{"step": 1, "reward": 0.5}\n';

/** A site that knows the address of a studio. */
async function siteWith(html: string): Promise<{ server: Server; url: string }> {
  const server = createServer((_, response) => {
    response.setHeader('content-type', 'text/html');
    response.end(html);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  // Another name, so that the browser takes it for another site.
  return { server, url: `http://localhost:${(server.address() as AddressInfo).port}/` };
}

describe.skipIf(!CHROMIUM)('a served page', () => {
  const { browser, folder } = useBrowser();
  beforeAll(() => {
    mkdirSync(join(folder, 'first'));
    writeFileSync(join(folder, 'first/metrics.jsonl'), '{"step": 1, "reward": 0.5}\n');
  });

  it('is linked to by another site with its token, which the address then no longer has', async () => {
    using studio = await StudioServer.start('--token', folder);
    const { server, url } = await siteWith(`<a href="${studio.url}">studio</a>`);
    const page = await browser.open(url);
    await page.click('a');
    await page.waitForURL(`${new URL(studio.url).origin}/`);
    await page.getByText('first').first().waitFor();
    expect(await page.evaluate('document.cookie')).toBe('');
    server.close();
  });

  it('is not embedded or read by another site', async () => {
    using studio = await StudioServer.start(folder);
    const { origin } = new URL(studio.url);
    const { server, url } = await siteWith(`<iframe src="${origin}/"></iframe>`);
    const page = await browser.open(url);
    const tries = `Promise.all([
      ...['${origin}/page.js', '${origin}/api/list?path=/'].map((src) => new Promise((resolve) => {
        const script = Object.assign(document.createElement('script'), { src });
        script.onload = () => resolve('loaded');
        script.onerror = () => resolve('refused');
        document.head.append(script);
      })),
      new Promise((resolve) => {
        const events = new EventSource('${origin}/api/events');
        events.onopen = () => resolve('loaded');
        events.onerror = () => resolve('refused');
      }),
      ...['cors', 'no-cors'].map((mode) =>
        fetch('${origin}/api/list?path=/', { mode }).then((answer) => 'loaded ' + answer.type, () => 'refused'),
      ),
    ])`;
    expect(await page.evaluate(tries)).toEqual(Array(5).fill('refused'));
    const frame = page.frames().find((one) => one !== page.mainFrame())!;
    expect(await frame.evaluate('document.querySelector("#page")')).toBeNull();
    server.close();
  });

  it('says that dropped files are shown, leads back, and keeps the colours', async () => {
    using studio = await StudioServer.start(folder);
    const page = await browser.open(new URL('#/doctor', studio.url).href);
    const file = { name: 'other.jsonl', mimeType: 'text/plain', buffer: Buffer.from(STEP) };
    await page.locator('input[aria-label="Choose files"]').setInputFiles(file);
    await page.getByRole('heading', { name: 'Findings of other.jsonl' }).waitFor();
    await page.getByText('Only the files that you dropped are shown').waitFor();
    await page.getByRole('button', { name: 'Back to the runs of the server' }).click();
    await page.getByRole('link', { name: 'first' }).waitFor();
    expect(await page.getByText('that you dropped').count()).toBe(0);
    await page.getByRole('button', { name: 'auto' }).click();
    await page.reload();
    await page.getByRole('button', { name: 'light' }).waitFor();
  });

  it('keeps what it has read while the server does not answer', async () => {
    using studio = await StudioServer.start(folder);
    const page = await browser.open(studio.url);
    await page.getByRole('link', { name: 'first' }).first().waitFor();
    await page.route(/\/api\/(list|file)/, (route) => route.abort());
    const failed = page.waitForEvent('requestfailed', (request) => request.url().includes('/api/list'));
    mkdirSync(join(folder, 'third'));
    writeFileSync(join(folder, 'third/metrics.jsonl'), STEP);
    await failed;
    await page.waitForTimeout(500);
    expect(await page.getByRole('alert').count()).toBe(0);
    await page.getByRole('link', { name: 'first' }).first().waitFor();
    await page.unrouteAll();
    mkdirSync(join(folder, 'fourth'));
    writeFileSync(join(folder, 'fourth/metrics.jsonl'), STEP);
    await page.getByText('fourth').first().waitFor();
  });

  it('closes its connection while it is hidden, and hears what it missed when it is seen again', async () => {
    using studio = await StudioServer.start(folder);
    const page = await browser.open(studio.url);
    const show = (isShown: boolean) =>
      page.evaluate(`Object.defineProperty(document, 'hidden', { value: ${!isShown}, configurable: true });
        document.dispatchEvent(new Event('visibilitychange'));`);
    await page.getByText('first').first().waitFor();
    const closed = page.waitForEvent('requestfailed', (request) => request.url().includes('/api/events'));
    await show(false);
    await closed;
    // The server has told another page already when this one comes back.
    const other = await browser.open(studio.url);
    await other.getByText('first').first().waitFor();
    mkdirSync(join(folder, 'second'));
    writeFileSync(join(folder, 'second/metrics.jsonl'), '{"step": 1, "reward": 0.5}\n');
    await other.getByText('second').first().waitFor();
    await show(true);
    await page.getByText('second').first().waitFor();
  });
});
