import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { richRecord } from '../../../../grpo/dist/doctor/rich-record.test.helper.js';
import { writeStepRecord } from '../../../../grpo/dist/trace/index.js';
import { CHROMIUM, OpenStudio } from '../../browser.test.helper.js';

const STEPS = 60;
const BROKEN = [31, 32, 33];

/** A row as a run writes it: the KL is NaN for a while, the gradient norm once 0, the reward the same in all groups. */
function row(step: number, level: number): string {
  const kl = BROKEN.includes(step) ? 'NaN' : (0.01 * step).toFixed(3);
  const reward = level + (step % 5) / 100;
  const parts = `"rewards/answer/mean":${reward},"rewards/format/mean":1,"entropy":0.5,"loss":0.1`;
  const lengths = '"completions/mean_length":20,"completions/min_length":5,"completions/max_length":40';
  const cut = `"completions/clipped_ratio":0.1,"frac_reward_zero_std":${(step % 10) / 10},"reward_std":${step / 100}`;
  const norm = step === 40 ? 0 : 4 + step / 10 - (step % 2 ? 0 : 1.5);
  return `{"step":${step},"reward":${reward},${parts},${lengths},${cut},"kl":${kl},"grad_norm":${norm}}\n`;
}

const timing = (step: number) =>
  `${JSON.stringify({ step, step_time: 3, 'seconds/sample': 2, 'seconds/update': 1 })}\n`;

function writeRun(folder: string, level: number): void {
  mkdirSync(folder);
  const steps = Array.from({ length: STEPS }, (_, i) => i + 1);
  writeFileSync(join(folder, 'config.json'), '{}');
  writeFileSync(join(folder, 'metrics.jsonl'), steps.map((step) => row(step, level)).join(''));
  writeFileSync(join(folder, 'timings.jsonl'), steps.map(timing).join(''));
  writeFileSync(join(folder, 'eval.jsonl'), '{"step":30,"accuracy":0.25,"reward":0.4}\n');
}

/** The server looks for changes once a second. */
const PATIENT = { timeout: 20_000 };

describe.skipIf(!CHROMIUM)('the curves of a run', () => {
  const studio = new OpenStudio((folder) => {
    writeRun(join(folder, 'one'), 0.2);
    writeRun(join(folder, 'two'), 0.6);
    for (const step of [10, 50])
      writeStepRecord(join(folder, 'one', 'steps', String(step).padStart(6, '0')), {
        ...richRecord({ step, seed: step }),
        step,
      });
  });

  async function open(query = ''): Promise<void> {
    await studio.open(`#/run/${encodeURIComponent('/runs/one')}${query}`);
    await chart('reward').locator('canvas').waitFor();
    // Findings that come move the charts, and these are drawn anew.
    await studio.page.getByText('The doctor reads the run').waitFor({ state: 'detached' });
    await studio.page.evaluate(() => new Promise(requestAnimationFrame));
  }
  const chart = (key: string) => studio.page.locator(`[data-chart="${key}"]`);
  const hash = () => studio.page.evaluate(() => decodeURIComponent(location.hash));
  const text = (key: string) => chart(key).textContent();
  /** How many points of a chart's canvas have the colour of a variable of the style sheet. */
  const painted = (key: string, variable: string) =>
    chart(key)
      .locator('canvas')
      .evaluate((canvas, name) => {
        const probe = document.body.appendChild(document.createElement('span'));
        probe.style.color = `var(--${name})`;
        const colour = getComputedStyle(probe).color.match(/\d+/g)!.map(Number);
        probe.remove();
        const { width, height } = canvas as HTMLCanvasElement;
        const { data } = (canvas as HTMLCanvasElement).getContext('2d')!.getImageData(0, 0, width, height);
        let count = 0;
        for (let i = 0; i < data.length; i += 4)
          if (data[i + 3]! > 200 && colour.every((value, k) => Math.abs(data[i + k]! - value) < 12)) count++;
        return count;
      }, variable);
  /** A place on a chart, at a share of its width. */
  async function at(key: string, share: number): Promise<{ x: number; y: number }> {
    await chart(key).scrollIntoViewIfNeeded();
    const { x, y, width, height } = (await chart(key).locator('.u-over').boundingBox())!;
    return { x: x + share * width, y: y + height / 2 };
  }

  it('shows the metrics of a step in their groups', async () => {
    await open();
    expect(await studio.page.locator('h2').allTextContents()).toEqual([
      'Reward',
      'Reward parts',
      'Lengths and cut-offs',
      'Policy: KL, entropy, clip, gap',
      'Gradient',
      expect.stringMatching(/^Time/),
      'Evaluation',
    ]);
    expect(await text('reward')).toContain('reward, evaluated 0.4');
    expect(await text('completion length')).toMatch(/mean 20[\s\S]*min 5[\s\S]*max 40/);
    expect(await painted('reward', 'curves-1')).toBeGreaterThan(50);
  });

  it('shows the healthy range with its source', async () => {
    await open();
    const cut = chart('completions cut off');
    expect(await cut.textContent()).toMatch(/healthy: at most 0\.15.*trl#5697/);
    await cut.locator('summary').first().click();
    expect(await cut.textContent()).toContain('B16');
    expect(await painted('groups of equal rewards', 'good')).toBeGreaterThan(20);
  });

  it('marks what is not finite and leaves a gap there', async () => {
    await open();
    await chart('KL to the reference').scrollIntoViewIfNeeded();
    await expect.poll(() => text('KL to the reference'), PATIENT).toContain('not finite at step 31–33');
    await expect.poll(() => painted('KL to the reference', 'fail'), PATIENT).toBeGreaterThan(5);
    expect(await painted('entropy', 'fail')).toBe(0);
  });

  it('has a log scale in the address, and says what is not on it', async () => {
    await open();
    await studio.page.getByRole('button', { name: 'log scale' }).click();
    expect(await hash()).toContain('log=1');
    await chart('gradient norm').scrollIntoViewIfNeeded();
    await studio.page.getByText('1 value is 0 or less: not on a log scale').waitFor();
    await open('?log=1');
    expect(await studio.page.getByRole('button', { name: 'log scale' }).getAttribute('aria-pressed')).toBe(
      'true',
    );
  });

  it('zooms by dragging, on all charts, until a double click', async () => {
    await open();
    const [from, to] = [await at('reward', 0.25), await at('reward', 0.75)];
    await studio.page.mouse.move(from.x, from.y);
    await studio.page.mouse.down();
    await studio.page.mouse.move(to.x, to.y, { steps: 4 });
    await studio.page.mouse.up();
    const button = studio.page.getByRole('button', { name: /^steps \d+ to \d+/ });
    await button.waitFor();
    const zoomed = await hash();
    const [, low, high] = /from=(\d+)&to=(\d+)/.exec(zoomed)!.map(Number);
    expect(low).toBeGreaterThanOrEqual(13);
    expect(high).toBeLessThanOrEqual(48);
    await open(`?from=${low}&to=${high}`);
    await chart('entropy').scrollIntoViewIfNeeded();
    await chart('entropy').getByText('numbers').click();
    expect(await chart('entropy').locator('tbody').locator('th').first().textContent()).toBe(String(low));
    const middle = await at('entropy', 0.5);
    await studio.page.mouse.dblclick(middle.x, middle.y);
    await button.waitFor({ state: 'detached' });
    expect(await hash()).not.toContain('from=');
  });

  it('has one cursor for all charts', async () => {
    await open();
    const { x, y } = await at('reward', 0.4);
    await studio.page.mouse.move(x, y);
    await studio.page.getByText(/^step \d+, a click or Enter opens step 10$/).waitFor();
    const said = await studio.page.locator('.curves-cursor').textContent();
    const step = Number(/step (\d+)/.exec(said!)![1]);
    expect(step).toBeGreaterThan(20);
    expect(step).toBeLessThan(28);
    await expect.poll(() => text('spread of the rewards'), PATIENT).toContain(`reward_std ${step / 100}`);
  });

  it('opens the nearest recorded step by a click and by Enter', async () => {
    await open();
    const { x, y } = await at('reward', 0.7);
    await studio.page.mouse.click(x, y);
    await studio.page.waitForFunction(() => location.hash.endsWith('/step/50'));
    await open();
    await chart('reward').focus();
    await studio.page.keyboard.press('Home');
    await studio.page.keyboard.press('ArrowRight');
    await studio.page.keyboard.press('Enter');
    await studio.page.waitForFunction(() => location.hash.endsWith('/step/10'));
  });

  it('shows recorded steps as ticks', async () => {
    await open();
    expect(await painted('spread of the rewards', 'link')).toBeGreaterThan(5);
  });

  it('has the numbers as a table', async () => {
    await open('?from=30&to=32');
    await chart('KL to the reference').getByText('numbers').click();
    const cells = chart('KL to the reference').locator('tbody :is(th, td)');
    expect(await cells.allTextContents()).toEqual(['30', '0.3', '31', 'NaN', '32', 'NaN']);
  });

  it('stacks the times of the stages, or lists them', async () => {
    await open();
    await chart('time per stage').scrollIntoViewIfNeeded();
    await expect.poll(() => text('time per stage'), PATIENT).toMatch(/sample 2[\s\S]*update 1/);
    // By its key: charts that are still being drawn may move it from under a pointer.
    await studio.page.getByRole('button', { name: 'list' }).press('Enter');
    await expect.poll(hash, PATIENT).toContain('time=list');
    await chart('seconds/update').waitFor();
    expect(await chart('time per stage').count()).toBe(0);
  });

  it('lays runs over each other', async () => {
    await open();
    await studio.page.getByRole('button', { name: 'overlay …' }).click();
    await studio.page.getByLabel('lay another run over this one').selectOption({ label: 'two' });
    await studio.page.waitForFunction(() => document.querySelectorAll('.curves-runs a').length === 2);
    expect(await hash()).toContain('with=/runs/two');
    await open(`?with=${encodeURIComponent('/runs/two')}`);
    await studio.page.getByLabel('remove two').waitFor();
    await expect.poll(() => text('reward'), PATIENT).toMatch(/one 0\.2[\s\S]*two 0\.6/);
    expect(await painted('reward', 'curves-2')).toBeGreaterThan(20);
  });

  it('is drawn anew in the colours of another theme', async () => {
    await open();
    const before = await painted('reward', 'curves-1');
    await studio.page.emulateMedia({ colorScheme: 'dark' });
    await studio.page.waitForTimeout(200);
    expect(await painted('reward', 'curves-1')).toBeGreaterThan(before / 2);
    await studio.page.emulateMedia({ colorScheme: 'light' });
  });

  it('grows with the run, and keeps its zoom and its place', async () => {
    await open(`?from=20&to=90`);
    await chart('gradient norm').scrollIntoViewIfNeeded();
    expect(await studio.page.evaluate(() => scrollY)).toBeGreaterThan(0);
    // Findings above may come meanwhile: what is looked at stays where it is seen.
    const seenAt = async () => (await chart('gradient norm').boundingBox())!.y;
    const before = await seenAt();
    appendFileSync(join(studio.folder, 'one', 'metrics.jsonl'), row(STEPS + 1, 0.2));
    await studio.page.getByText(`step ${STEPS + 1}`).waitFor();
    await expect.poll(() => text('gradient norm'), PATIENT).toContain(String(4 + (STEPS + 1) / 10));
    expect(Math.abs((await seenAt()) - before)).toBeLessThanOrEqual(2);
    expect(await hash()).toContain('from=20&to=90');
  });

  it('marks findings where they begin, with a link to what was found', async () => {
    await open();
    await chart('gradient norm').scrollIntoViewIfNeeded();
    const mark = chart('gradient norm').locator('a.curves-mark');
    await mark.waitFor();
    expect(await mark.getAttribute('title')).toMatch(/^step 40: B53\.log/);
    // A chart is drawn anew when it comes into sight.
    await chart('reward').scrollIntoViewIfNeeded();
    const codes = async () => {
      const marks = await chart('reward').locator('a.curves-mark').all();
      const titles = await Promise.all(marks.map((one) => one.getAttribute('title')));
      return titles.map((title) => /B\d+\.\w+/.exec(title!)?.[0]);
    };
    // The first chart has the marks of all.
    await expect.poll(codes, PATIENT).toEqual(['B45.kl', 'B53.log']);
    expect(await chart('entropy').locator('a.curves-mark').count()).toBe(0);
    expect(await studio.page.locator('.curves-findings a').first().textContent()).toContain('warn');
    await mark.click();
    await studio.page.waitForFunction(() => location.hash.includes('/findings?code=B53.log'));
  });
});
