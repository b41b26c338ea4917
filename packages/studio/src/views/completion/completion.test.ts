import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CHROMIUM, OpenStudio } from '../../browser.test.helper.js';
import { GAP_AT, OWN, startOf, TOOL, tokenRecord, writeTokenRun } from '../../token-run.test.helper.js';

describe.skipIf(!CHROMIUM)('a completion as tokens', () => {
  const studio = new OpenStudio((folder) => writeTokenRun(join(folder, 'run')));
  const record = tokenRecord();
  const start = startOf(record);
  const length = record.completions!.lengths![OWN]!;
  const prompt = record.prompts!.lengths![record.completions!.prompt![OWN]!]!;

  const linkOf = (place: string) => `#/run/%2Fruns%2Frun/step/${place}`;
  const open = (place: string) => studio.open(linkOf(place));
  /** A token of the completion, by its position. */
  const token = (position: number) => studio.page.locator(`[data-place="${prompt + position}"]`);
  const card = (name: string) =>
    studio.page
      .locator('.completion-card tr', { has: studio.page.locator('th', { hasText: name }) })
      .locator('td');
  const hash = () => studio.page.evaluate(() => location.hash);

  it('shows the tokens in order, with white space, bytes, special tokens, roles and the boundary', async () => {
    await open(`1/completion/${OWN}`);
    await token(0).waitFor();
    const ids = Array.from(record.completions!.ids!.subarray(start, start + length));
    const shown = await studio.page.locator('[data-place]').allTextContents();
    const special = record.tokenizer!.specialTokens!;
    const expected = ids.map((id) => special[id] ?? (id === 5 ? '⏎' : id === 6 ? '⟨e2 80⟩' : `·w${id}`));
    expect(shown.slice(prompt)).toEqual(expected);
    expect(await studio.page.locator('[data-place="0"]').getAttribute('class')).toContain('token-special');
    const rows = await studio.page.locator('.completion-part, .completion-boundary').allTextContents();
    expect(rows.slice(0, 3)).toEqual(['template', 'user', 'template']);
    expect(rows[3]).toContain(`below: the completion, ${length} tokens`);
    // The newline ends its line.
    const top = async (position: number) => (await token(position).boundingBox())!.y;
    expect(await top(2)).toBeGreaterThan(await top(1));
  });

  it('colours by the measure of a key or a button, by lines too, and says the numbers', async () => {
    await open(`1/completion/${OWN}`);
    await token(0).waitFor();
    await studio.page.keyboard.press('5');
    await studio.page.locator('button[aria-pressed="true"]', { hasText: 'gap' }).waitFor();
    expect(await hash()).toContain('colour=gap');
    const look = (position: number) =>
      token(position).evaluate((one) => {
        const { backgroundColor, borderBottomWidth, borderTopWidth } = getComputedStyle(one);
        return { backgroundColor, borderBottomWidth, borderTopWidth };
      });
    expect(await look(GAP_AT)).toMatchObject({ borderBottomWidth: '3px', borderTopWidth: '0px' });
    expect(await look(GAP_AT - 1)).toMatchObject({ borderBottomWidth: '0px' });
    expect((await look(GAP_AT)).backgroundColor).not.toBe((await look(GAP_AT - 1)).backgroundColor);
    expect(await studio.page.locator('.completion-legend li').allTextContents()).toContain('abc≥ 0.1 nats');
    await studio.page.getByRole('button', { name: 'source 0' }).click();
    await studio.page.waitForFunction(() => location.hash.includes('colour=source'));
    expect(await token(TOOL.from).getAttribute('class')).toContain('minus-3');
  });

  it('shows masked tokens as masked, whatever the colour', async () => {
    await open(`1/completion/${OWN}?colour=entropy`);
    await token(0).waitFor();
    const classes = await Promise.all(
      [TOOL.from - 1, TOOL.from, TOOL.to - 1, TOOL.to].map((t) => token(t).getAttribute('class')),
    );
    expect(classes.map((name) => name!.includes('masked'))).toEqual([false, true, true, false]);
    expect(await token(TOOL.from).evaluate((one) => getComputedStyle(one).backgroundImage)).toContain(
      'gradient',
    );
    expect(await token(TOOL.from).getAttribute('aria-label')).toContain('not in the loss');
  });

  it('tells id, bytes and numbers of a token that is pointed at or reached by keys', async () => {
    await open(`1/completion/${OWN}`);
    await token(2).hover();
    await studio.page.getByText(`Token 2 of ${length}`).waitFor();
    expect(await card('bytes').textContent()).toBe('e2 80 (2)');
    expect(await card('log π, sampler').textContent()).toContain('nats');
    await token(GAP_AT).focus();
    expect(await card('gap, policy').textContent()).toContain('+0.5 nats');
    await studio.page.keyboard.press('ArrowLeft');
    await studio.page.getByText(`Token ${GAP_AT - 1} of`).waitFor();
    await studio.page.keyboard.press('End');
    await studio.page.getByText(`Token ${length - 1} of`).waitFor();
    expect(await studio.page.evaluate(() => (document.activeElement as HTMLElement).dataset.place)).toBe(
      String(prompt + length - 1),
    );
    await studio.page.keyboard.press('Home');
    await studio.page.getByText('Token 0 of').waitFor();
  });

  it('pins a token in the address, which survives a reload', async () => {
    await open(`1/completion/${OWN}`);
    await token(7).click();
    expect(await hash()).toContain('token=7');
    await studio.page.reload();
    await token(7).waitFor();
    expect(await token(7).getAttribute('aria-pressed')).toBe('true');
    expect(await card('source').textContent()).toContain('tool');
    await studio.page.getByRole('button', { name: 'pinned: let go' }).click();
    expect(await hash()).not.toContain('token=');
  });

  it('names its keys in the help, and no others', async () => {
    await open(`1/completion/${OWN}`);
    await token(0).waitFor();
    await studio.page.keyboard.press('?');
    const help = studio.page.locator('.help');
    await help.waitFor();
    const own = await help.textContent();
    for (const words of ['one place up', 'next completion of the group', 'colour by gap'])
      expect(own).toContain(words);
    await studio.page.evaluate(() => {
      location.hash = location.hash.replace(/completion.*/, 'loss');
    });
    await studio.page.locator('.loss-tree').waitFor();
    await expect.poll(() => help.textContent()).not.toContain('colour by gap');
    expect(await help.textContent()).toContain('one place up');
    await studio.page.keyboard.press('Escape');
    expect(await help.count()).toBe(0);
  });

  it('goes through the group by keys, and through the updates', async () => {
    await open(`1/completion/${OWN}?colour=ratio&token=${GAP_AT}`);
    await token(0).waitFor();
    const ratio = () => card('ratio').textContent();
    const recorded = (update: number) => record.updates![update]!.ratios![start + GAP_AT]!.toPrecision(6);
    expect(Number(await ratio())).toBe(Number(recorded(0)));
    await studio.page.getByLabel('numbers of update').selectOption('1');
    await studio.page.getByText('log π, update 2').waitFor();
    expect(Number(await ratio())).toBe(Number(recorded(1)));
    for (const [key, name] of [
      ['j', '2.3'],
      // It is the last of its group.
      ['j', '2.3'],
      ['k', '2.2'],
    ] as const) {
      await studio.page.keyboard.press(key);
      await studio.page.locator('h1', { hasText: `Completion ${name}` }).waitFor();
    }
    expect(await hash()).toContain('colour=ratio');
  });

  it('goes from the chart to the token that it shows', async () => {
    await open(`1/completion/${OWN}?colour=gap`);
    const chart = studio.page.locator('.completion-chart svg');
    await chart.waitFor();
    const { width } = (await chart.boundingBox())!;
    await chart.click({ position: { x: ((GAP_AT + 0.5) / length) * width, y: 10 } });
    await studio.page.getByText(`Token ${GAP_AT} of`).waitFor();
    expect(await hash()).toContain(`token=${GAP_AT}`);
  });

  it('finds the worst token of the step, and shows the gap by position', async () => {
    await open(`1/completion/0`);
    await studio.page.getByText('worst tokens of this step').click();
    const first = studio.page.locator('.worst-tokens tbody tr').first();
    expect(await first.textContent()).toContain('+0.5');
    await studio.page.getByText('gap against position in this step').click();
    await studio.page.locator('.gap-by-position svg').first().waitFor();
    expect(await studio.page.locator('.gap-by-position figcaption').nth(1).textContent()).toContain(
      'to 0.5 nats',
    );
    await first.getByRole('link').click();
    await studio.page.getByText(`Token ${GAP_AT} of ${length}`).waitFor();
    expect(await hash()).toContain(`completion/${OWN}?token=${GAP_AT}&colour=gap`);
  });

  it('shows ids where there are no texts, and replays the filling', async () => {
    await open(`2/completion/${OWN}?colour=order`);
    await studio.page.getByText('The record lacks texts of tokens').waitFor();
    expect(await studio.page.locator('[data-place]', { hasText: /^#\d+$/ }).count()).toBeGreaterThan(5);
    const places = studio.page.locator('.token.hidden');
    expect(await places.count()).toBe(0);
    const slider = studio.page.getByLabel('filled after step');
    await slider.fill('1');
    await studio.page.waitForFunction(() => location.hash.includes('filled=1'));
    const hidden = await places.count();
    await slider.fill('3');
    await studio.page.waitForFunction(() => location.hash.includes('filled=3'));
    expect(hidden).toBeGreaterThan(await places.count());
    expect(await places.count()).toBeGreaterThan(0);
  });

  it('shows the text of a step without tokens, and says what is missing', async () => {
    await open('3/completion/0');
    await studio.page.getByText('yes, of course').waitFor();
    expect(await studio.page.textContent('main')).toContain('record.every');
    expect(await studio.page.locator('[data-place]').count()).toBe(0);
  });

  it('fits a telephone', async () => {
    const narrow = await studio.browser.open(studio.urlOf(linkOf(`1/completion/${OWN}?token=4`)), {
      viewport: { width: 390, height: 844 },
    });
    await narrow.locator('.completion-card').waitFor();
    expect(await narrow.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
  });
});
