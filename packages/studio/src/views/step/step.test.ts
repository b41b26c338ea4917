import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { CHROMIUM, OpenStudio } from '../../browser.test.helper.js';
import { writeOddRun } from './odd-run.test.helper.js';

describe.skipIf(!CHROMIUM)('a step and a comparison', () => {
  const studio = new OpenStudio(writeOddRun);
  const run = encodeURIComponent('/runs');

  const open = async (hash: string, width = 1280): Promise<Page> => {
    const page = await studio.browser.open(studio.urlOf(hash), { viewport: { width, height: 900 } });
    await page.locator('h1').waitFor();
    return page;
  };
  const hashOf = (page: Page) => decodeURIComponent(new URL(page.url()).hash);

  it('shows groups side by side, and what is odd about each', async () => {
    const page = await open(`#/run/${run}/step/2?groups=failed`);
    const cards = page.locator('.step-card');
    await cards.first().waitFor();
    expect(await cards.count()).toBe(4);
    const boxes = await Promise.all([0, 1].map((i) => cards.nth(i).boundingBox()));
    expect(boxes[1]!.y).toBe(boxes[0]!.y);
    const failed = await cards.nth(1).textContent();
    expect(failed).toContain('✕ NaN');
    expect(failed).toContain('failed: the judge did not answer in 30 s');
    expect(await cards.nth(0).textContent()).toMatch(/2\.0.*▲ \+.*the same number.*brevity/s);
    expect(await cards.nth(2).textContent()).toContain('▼ −');
    await page.getByRole('button', { name: 'show all' }).click();
    const groups = page.locator('.step-groups');
    await groups.getByText('no signal').first().waitFor();
    await groups.evaluate((list) => list.scrollTo(0, 1e6));
    await page.getByText('This prompt has no completions.').waitFor();
    await page.goto(studio.urlOf(`#/run/${run}/step/2?groups=replayed`));
    await page.getByText('↻ replayed from step 1').waitFor();
  });

  it('folds what a group begins with; one click shows it, and the address keeps it', async () => {
    const page = await open(`#/run/${run}/step/2?search=needle`);
    const card = page.locator('.step-card').first();
    await card.locator('mark').waitFor();
    expect(await page.locator('.step-card').count()).toBe(1);
    await page.goto(studio.urlOf(`#/run/${run}/step/2?groups=failed`));
    await page.locator('.step-card').nth(3).waitFor();
    expect(await card.textContent()).not.toContain('Let us think');
    await page.getByRole('button', { name: /^show the \d+ characters/ }).click();
    await page.getByText('Let us think about it').first().waitFor();
    await page.reload();
    await page.getByText('Let us think about it').first().waitFor();
    expect(hashOf(page)).toContain('shared=2');
  });

  it('sorts the table by a column, moves by keys, opens a completion, and goes to the next step', async () => {
    const page = await open(`#/run/${run}/step/1?form=table`);
    const first = page.locator('.virtual-table tbody a').first();
    await page.getByRole('button', { name: 'reward', exact: true }).click();
    await page.getByRole('columnheader', { name: 'reward ↑' }).waitFor();
    // By key: on a busy machine a second click was lost.
    await page.getByRole('button', { name: 'reward ↑' }).press('Enter');
    await page.getByRole('columnheader', { name: 'reward ↓' }).waitFor();
    expect(hashOf(page)).toContain('sort=-reward');
    const best = (await first.textContent())!;
    expect(best).toMatch(/^[2-5]\.0$/);
    const last = page.locator('.virtual-table tbody tr', { has: page.locator('a') }).last();
    expect(await last.textContent()).toContain('✕ NaN');
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    await page.keyboard.press('k');
    await page.locator('tr[aria-current] a', { hasText: best }).waitFor();
    await page.getByText('step 2 →').waitFor();
    await page.keyboard.press(']');
    await page.getByRole('heading', { name: 'Step 2' }).waitFor();
    expect(hashOf(page)).toContain('sort=-reward');
    await page.keyboard.press('j');
    await page.locator('tr[aria-current]').waitFor();
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => /\/step\/2\/completion\/\d+$/.test(location.hash));
  });

  it('opens at the completion of a link, with its group in the middle', async () => {
    const page = await studio.browser.open(studio.urlOf(`#/run/${run}/step/2?at=17`), {
      viewport: { width: 1280, height: 760 },
    });
    const group = page.locator('.step-group', { has: page.locator('[aria-current]') });
    await group.waitFor();
    const offCentre = async () => {
      const [frame, own] = [await page.locator('.step-groups').boundingBox(), await group.boundingBox()];
      return Math.abs(own!.y + own!.height / 2 - (frame!.y + frame!.height / 2));
    };
    await expect.poll(offCentre).toBeLessThan(40);
  });

  it('shows the stages as a timeline, the findings of the step, and links to the loss', async () => {
    const page = await open(`#/run/${run}/step/2?open=stages`);
    const bars = page.locator('.step-stages-bar > span');
    const widths = await bars.evaluateAll((all) => all.map((bar) => bar.getBoundingClientRect()));
    expect(widths[0]!.width / widths[1]!.width).toBeCloseTo(6, 0);
    expect(widths[2]!.left).toBeCloseTo(widths[1]!.right, 0);
    expect(await page.locator('.step-stages').textContent()).toContain(
      'the slowest is sample with 6 s (60 %)',
    );
    await page.locator('.step-phases').getByText('prompt').waitFor();
    const link = page.locator('.step-findings a[href*="/completion/"]').first();
    await link.waitFor();
    await page.getByRole('button', { name: '▸ worst tokens' }).click();
    await page.locator('.worst-tokens a[href*="token="]').first().waitFor();
    await page.getByRole('button', { name: '▸ gap against position' }).click();
    await page.locator('.gap-by-position svg').first().waitFor();
    expect(hashOf(page)).toContain('open=stages,worst,gap');
    expect(await page.getByText('the loss as a sum').getAttribute('href')).toBe(`#/run/${run}/step/2/loss`);
  });

  it('says that a step has texts and rewards only, and that its last group was cut off', async () => {
    const page = await open(`#/run/${run}/step/3`);
    await page.getByText('No update of this step was recorded').waitFor();
    await page.getByText('It is 6.').waitFor();
    expect(await page.locator('.step-card').count()).toBe(7);
    await page.getByText('⚠ 3 of 4 completions').waitFor();
  });

  it('puts cards below one another on a telephone, within its width', async () => {
    const page = await open(`#/run/${run}/step/2?groups=failed`, 390);
    const cards = page.locator('.step-card');
    await cards.nth(1).waitFor();
    const boxes = await Promise.all([0, 1].map((i) => cards.nth(i).boundingBox()));
    expect(boxes[1]!.x).toBe(boxes[0]!.x);
    expect(boxes[1]!.y).toBeGreaterThan(boxes[0]!.y + 50);
    for (const hash of ['?form=table', '?open=stages']) {
      await page.goto(studio.urlOf(`#/run/${run}/step/2${hash}`));
      await page.locator('.step-filters').waitFor();
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
    }
  });

  it('compares two steps: the first difference, and the words that differ', async () => {
    const page = await open(`#/compare?run=${run}&step=1&with=${run}&withStep=2`);
    await page.getByText('≠ first difference').waitFor();
    expect(await page.locator('.compare-difference').textContent()).toContain('sampled ids');
    const pair = page.locator('.compare-pair').first();
    expect(await pair.locator('del').allTextContents()).toEqual(['1']);
    expect(await pair.locator('ins').allTextContents()).toEqual(['2']);
    expect(await pair.textContent()).toContain('≠ another text');
    await page.goto(studio.urlOf(`#/compare?run=${run}&step=1&with=${run}&withStep=1&only=different`));
    await page.getByText('every completion is the same').waitFor();
    await page.getByText('quantities that both records have agree').waitFor();
  });
});
