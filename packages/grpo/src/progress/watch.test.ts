import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { Abandoned, type StageProgress, Watch } from './watch.js';

const NOW: StageProgress = { stage: 'scoring', done: 0, total: 2, unit: 'completions' };

it('without an observer and a signal changes nothing', async () => {
  const watch = new Watch();
  watch.report(NOW);
  await watch.breathe();
  expect(await watch.until(NOW, async () => 3)).toBe(3);
});

it('reports, under another name where it is asked to', () => {
  const stages: string[] = [];
  const watch = new Watch({ progress: ({ stage }) => stages.push(stage) });
  watch.report(NOW);
  watch.named('evaluation').report(NOW);
  watch.finishing().report(NOW);
  expect(stages).toEqual(['scoring', 'evaluation', 'scoring']);
});

describe('when the signal comes', () => {
  it('the work is abandoned at its next report', async () => {
    const stop = new AbortController();
    const watch = new Watch({}, stop.signal).named('rollout');
    watch.report(NOW);
    stop.abort();
    expect(() => watch.report(NOW)).toThrow(Abandoned);
    await expect(watch.breathe()).rejects.toThrow(Abandoned);
  });

  it('nobody waits for work that does not report, and its failure later is nobody else’s', async () => {
    const stop = new AbortController();
    const watch = new Watch({}, stop.signal);
    let fail = (_: Error) => {};
    const work = new Promise<number>((_, reject) => {
      fail = reject;
    });
    const waiting = watch.until(NOW, () => work);
    stop.abort();
    await expect(waiting).rejects.toThrow(Abandoned);
    // An unhandled rejection would fail the test run.
    fail(new Error('late'));
    await setImmediate();
    await expect(new Watch({}, new AbortController().signal).until(NOW, async () => 4)).resolves.toBe(4);
  });

  it('work that must be finished says so once, and goes on', async () => {
    const stop = new AbortController();
    const notes: string[] = [];
    const watch = new Watch({ note: (text) => notes.push(text) }, stop.signal).finishing('finished first');
    watch.report(NOW);
    expect(notes).toEqual([]);
    stop.abort();
    watch.report(NOW);
    await watch.breathe();
    expect(await watch.until(NOW, async () => 5)).toBe(5);
    expect(notes).toEqual(['finished first']);
  });
});
