import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type StepRecord, writeStepRecord } from '../../../../grpo/dist/trace/index.js';
import { CHROMIUM, OpenStudio } from '../../browser.test.helper.js';
import { orderRecord, writeTokenRun } from '../../token-run.test.helper.js';

/** The loss of the second update with another upper bound, summed up here. */
function lossWith(record: StepRecord, high: number): number {
  const { policyLogprobs, klTerms } = record.updates![1]!;
  const lengths = record.scored!.lengths!;
  const owner = Array.from(lengths, (length, b) => Array<number>(length).fill(b)).flat();
  let total = 0;
  for (const [t, b] of owner.entries()) {
    const ratio = Math.exp(policyLogprobs![t]! - record.scored!.oldLogprobs![t]!);
    const advantage = record.advantages![b]!;
    const clipped = Math.max(0.8, Math.min(1 + high, ratio));
    total += (-Math.min(ratio * advantage, clipped * advantage) + 0.1 * klTerms![t]!) / owner.length;
  }
  return total;
}

describe.skipIf(!CHROMIUM)('the loss as a sum', () => {
  const record = orderRecord();
  const studio = new OpenStudio((folder) => {
    const run = join(folder, 'run');
    writeTokenRun(run);
    const [first, ...others] = record.updates!;
    const wrong = { ...record, step: 4, updates: [{ ...first!, loss: first!.loss! + 0.01 }, ...others] };
    writeStepRecord(join(run, 'steps', '000004'), wrong);
  });

  const linkOf = (place: string) => `#/run/%2Fruns%2Frun/step/${place}`;
  const open = async (place: string) => {
    await studio.open(linkOf(place));
    await studio.page.locator('.loss-row').nth(1).waitFor();
  };
  const rows = (kind: string) => studio.page.locator(`.loss-${kind}`);
  const number = (text: string) => Number(text.replaceAll(',', '').replace('−', '-').replace('▲', ''));
  const sumOf = async (kind: string) => {
    const texts = await rows(kind)
      .locator('> .number')
      .evaluateAll((all) => all.map((one) => one.textContent!));
    const perRow = texts.length / (await rows(kind).count());
    return texts.filter((_, i) => i % perRow === 0).reduce((sum, text) => sum + number(text), 0);
  };

  it('adds up to the recorded loss, from groups to completions to tokens', async () => {
    await open('2/loss?update=1');
    const { loss } = record.updates![1]!;
    expect(await studio.page.textContent('.loss-sum')).toContain('the same, to rounding');
    expect(await rows('group').count()).toBe(6);
    expect(await sumOf('group')).toBeCloseTo(loss!, 4);
    const group = rows('group').first();
    const value = number((await group.locator('> .number').first().textContent())!);
    await group.getByRole('button').click();
    await rows('completion').nth(3).waitFor();
    expect(await sumOf('completion')).toBeCloseTo(value, 4);
    const completion = rows('completion').first();
    const own = number((await completion.locator('> .number').first().textContent())!);
    await completion.getByRole('button').click();
    await rows('token').first().waitFor();
    expect(await sumOf('token')).toBeCloseTo(own, 4);
    const link = await rows('token').first().getByRole('link').getAttribute('href');
    expect(link).toMatch(/\/step\/2\/completion\/\d+\?colour=loss&token=\d+&update=1$/);
  });

  it('says where the sum is not the recorded loss, and by how much', async () => {
    await open('4/loss');
    const sum = await studio.page.textContent('.loss-sum');
    expect(sum).toContain('not the same');
    expect(sum).toContain('−0.01');
  });

  it('tries another ε exactly, marks it, and leads back', async () => {
    await open('2/loss?update=1');
    expect(await studio.page.getByText('Hypothetical, not trained').count()).toBe(0);
    await studio.page.getByLabel('ε high', { exact: true }).fill('0.05');
    await studio.page.keyboard.press('Enter');
    const outcome = studio.page.locator('.loss-hypothetical.changed p', { hasText: 'Hypothetical' });
    await outcome.waitFor();
    const text = (await outcome.textContent())!;
    expect(text).toContain('ε high 0.05 instead of 0.2');
    const [would, instead] = [...text.matchAll(/[+−]\d+\.\d+(?:e-?\d+)?/g)].map(([found]) => number(found));
    expect(would).toBeCloseTo(lossWith(record, 0.05), 6);
    expect(instead).toBeCloseTo(lossWith(record, 0.2), 6);
    expect(Math.abs(would! - instead!)).toBeGreaterThan(1e-5);
    // The recorded numbers stay where they are.
    expect(await studio.page.textContent('.loss-sum')).toContain('the same, to rounding');
    await studio.page.reload();
    await outcome.waitFor();
    await studio.page.getByRole('button', { name: 'back to what was recorded' }).click();
    await studio.page.waitForFunction(() => !location.hash.includes('epsilon'));
    expect(await outcome.count()).toBe(0);
  });

  it('says that a clip range changes nothing where all ratios are 1', async () => {
    await open('2/loss?epsilonHigh=0.01');
    await studio.page.getByText('In a first update all ratios are 1').waitFor();
  });

  it('fits a telephone', async () => {
    const narrow = await studio.browser.open(studio.urlOf(linkOf('2/loss?beta=0.2&open=g3,c12')), {
      viewport: { width: 390, height: 844 },
    });
    await narrow.locator('.loss-token').first().waitFor();
    expect(await narrow.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
  });
});
