import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CHROMIUM, OpenStudio } from '../../browser.test.helper.js';

const row = (step: number, reward: number) => `${JSON.stringify({ step, reward, loss: 0.1 })}\n`;
const values = { 'train.steps': { value: 4, source: 'flag' } };

/** The server looks for changes once a second. */
const PATIENT = { timeout: 20_000 };

describe.skipIf(!CHROMIUM)('the list of runs', () => {
  const studio = new OpenStudio((folder) => {
    const rewards = { low: [0.1, 0.2, 0.3, 0.2], high: [0.5, 0.9], 'flat/log': [0.4, 0.4, 0.4] };
    for (const [name, list] of Object.entries(rewards)) {
      const run = join(folder, name);
      mkdirSync(run, { recursive: true });
      if (name !== 'flat/log')
        writeFileSync(join(run, 'config.json'), JSON.stringify({ format: 'grpo-config', values }));
      writeFileSync(join(run, 'metrics.jsonl'), list.map((reward, i) => row(i + 1, reward)).join(''));
    }
  });

  async function open(query = ''): Promise<void> {
    await studio.open(`#/${query}`);
    await studio.page.locator('.run-list-row').first().waitFor();
  }
  const names = () => studio.page.locator('.run-list-name a').allTextContents();
  const entry = (name: string) => studio.page.locator('.run-list-row', { hasText: name });
  const hash = () => studio.page.evaluate(() => decodeURIComponent(location.hash));

  it('shows state, steps and rewards', async () => {
    await open('?sort=name');
    expect(await names()).toEqual(['flat/log/metrics.jsonl', 'high', 'low']);
    expect(await entry('low').locator('.run-list-step').textContent()).toMatch(/^4/);
    expect(await entry('low').locator('.run-list-reward').textContent()).toBe('0.2');
    expect(
      await entry('low')
        .getByRole('link', { name: /judge|in training/ })
        .getAttribute('href'),
    ).toBe(`#/run/${encodeURIComponent('/runs/low')}/findings`);
    expect(await entry('high').getByRole('img').getAttribute('aria-label')).toBe('reward from 0.5 to 0.9');
    expect(await entry('low').locator('polyline').getAttribute('points')).toMatch(
      /^0\.0,18\.0 .*,0\.0 96\.0/,
    );
  });

  it('is sorted by a click, in an order that the address keeps', async () => {
    await open();
    await studio.page.getByRole('button', { name: 'reward' }).click();
    expect(await names()).toEqual(['high', 'flat/log/metrics.jsonl', 'low']);
    await studio.page.getByRole('button', { name: 'reward' }).click();
    expect(await hash()).toContain('sort=-reward');
    await open('?sort=-reward');
    expect(await names()).toEqual(['low', 'flat/log/metrics.jsonl', 'high']);
  });

  it('is filtered from the keyboard', async () => {
    await open();
    await studio.page.keyboard.press('/');
    await studio.page.keyboard.type('hig');
    await expect.poll(names, PATIENT).toEqual(['high']);
    expect(await hash()).toContain('filter=hig');
    await studio.page.keyboard.type('zz');
    await studio.page.getByText('No run has these words.').waitFor();
  });

  it('is gone through, picked from and opened by keys', async () => {
    await open('?sort=name');
    for (const key of ['j', 'j', 'x', 'j', 'x', 'k', 'j']) await studio.page.keyboard.press(key);
    expect(await hash()).toContain('pick=/runs/high,/runs/low');
    await studio.page.keyboard.press('o');
    await studio.page.waitForFunction(() => location.hash.startsWith('#/run/'));
    expect(await hash()).toBe('#/run//runs/high?with=/runs/low');
    await studio.page.goBack();
    await studio.page.locator('.run-list-row').first().waitFor();
    for (const key of ['j', 'Enter']) await studio.page.keyboard.press(key);
    await studio.page.waitForFunction(() => location.hash.startsWith('#/run/'));
    expect(await hash()).toBe('#/run//runs/flat/log/metrics.jsonl');
  });

  it('is as it was chosen when one comes back, by a key or by the way that the page shows', async () => {
    await open('?sort=-reward&filter=low');
    for (const key of ['j', 'Enter']) await studio.page.keyboard.press(key);
    await studio.page.waitForFunction(() => location.hash.startsWith('#/run/'));
    await studio.page.keyboard.press('u');
    await expect.poll(names, PATIENT).toEqual(['low']);
    expect(await hash()).toBe('#/?sort=-reward&filter=low');
    await studio.page.goBack();
    await studio.page.getByRole('link', { name: 'runs', exact: true }).click();
    await expect.poll(hash, PATIENT).toBe('#/?sort=-reward&filter=low');
  });

  it('follows a run that goes on, and keeps what was picked', async () => {
    await open('?sort=name');
    await entry('low').getByRole('checkbox').click();
    appendFileSync(join(studio.folder, 'high', 'metrics.jsonl'), row(3, 0.7) + row(4, 0.75));
    await expect.poll(() => entry('high').locator('.run-list-step').textContent(), PATIENT).toMatch(/^4/);
    expect(await entry('high').locator('.run-list-reward').textContent()).toBe('0.75');
    expect(await entry('low').getByRole('checkbox').isChecked()).toBe(true);
  });
});
