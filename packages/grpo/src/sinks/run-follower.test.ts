import { truncateSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { MAX_LINE_BYTES } from '../formats/jsonl.js';
import { finding, RunFiles } from './run-files.test.helper.js';
import { RunFollower } from './run-follower.js';
import type { Item } from './sink.js';

const BEGIN = { step: 0, findings: 0, evaluation: -1 };
const MANY = 100;

const named = (items: readonly Item[]) => items.map(({ kind, step }) => `${kind} ${step}`);

describe('RunFollower', () => {
  it('makes an item of each whole step, with its findings, and of each evaluation, in the order of the run', () => {
    const run = new RunFiles();
    const follower = new RunFollower(run.folder, BEGIN, true);
    expect(follower.next(MANY)).toEqual([]);
    run.add('eval.jsonl', { step: 0, problems: 2, greedy: { reward: 'NaN', low: 0.5 } });
    run.step(1);
    run.add('findings.jsonl', finding(2), finding(2, 'fail'));
    run.step(2, { kl: 'Infinity' });
    run.add('eval.jsonl', { step: 2, problems: 2, greedy: { reward: 1 } });
    const items = follower.next(MANY);
    expect(named(items)).toEqual(['evaluation 0', 'step 1', 'step 2', 'findings 2', 'evaluation 2']);
    expect(items[0]).toMatchObject({
      values: { problems: 2, 'greedy/reward': Number.NaN, 'greedy/low': 0.5 },
    });
    expect(items[1]).toMatchObject({ time: 1001, values: { reward: 0.25, loss: -1, step_time: 2 } });
    expect(items[2]).toMatchObject({ values: { kl: Number.POSITIVE_INFINITY }, completions: [{}, {}] });
    expect(items[3]).toMatchObject({ time: 1002, findings: [{ severity: 'warn' }, { severity: 'fail' }] });
    expect(follower.next(MANY)).toEqual([]);
    run.step(3);
    expect(named(follower.next(MANY))).toEqual(['step 3']);
  });

  it('waits for the end of a step, and for the end of a row', () => {
    const run = new RunFiles();
    const follower = new RunFollower(run.folder, BEGIN, false);
    run.add('metrics.jsonl', { step: 1, reward: 2 });
    expect(follower.next(MANY)).toEqual([]);
    run.addText('timings.jsonl', '{"step":1,"ended_at":5,"no');
    expect(follower.next(MANY)).toEqual([]);
    run.addText('timings.jsonl', 'te":7}\n{"step":2');
    expect(follower.next(MANY)).toMatchObject([{ step: 1, time: 5, values: { reward: 2, note: 7 } }]);
  });

  it('reads completions only where they are wanted, and gives few steps at a time', () => {
    const run = new RunFiles();
    for (let step = 1; step <= 5; step++) run.step(step);
    const follower = new RunFollower(run.folder, BEGIN, false);
    const first = follower.next(2);
    expect(first).toMatchObject([{ completions: [] }, { completions: [] }]);
    expect(named([...first, ...follower.next(2), ...follower.next(2)])).toEqual(
      [1, 2, 3, 4, 5].map((step) => `step ${step}`),
    );
    expect(follower.lastStep).toBe(5);
    run.addText('timings.jsonl', '{"step":6,"ended_a');
    expect(follower.lastStep).toBe(6);
  });

  it('goes on after what was delivered', () => {
    const run = new RunFiles();
    run.add('eval.jsonl', { step: 0, problems: 2 });
    for (let step = 1; step <= 4; step++) {
      run.add('findings.jsonl', finding(step));
      run.step(step);
    }
    const follower = new RunFollower(run.folder, { step: 2, findings: 3, evaluation: 0 }, true);
    const items = follower.next(MANY);
    expect(named(items)).toEqual(['step 3', 'step 4', 'findings 4']);
    expect(items[0]).toMatchObject({ completions: [{ completion: expect.stringContaining('hi 3') }, {}] });
  });

  it('tells of the findings of a step that failed when the run has ended', () => {
    const run = new RunFiles();
    run.step(1);
    run.add('findings.jsonl', {
      ...finding(2, 'fail'),
      measured: { share: 'NaN', list: ['Infinity', 'word'] },
    });
    const follower = new RunFollower(run.folder, BEGIN, false);
    expect(named(follower.next(MANY))).toEqual(['step 1']);
    expect(follower.rest()).toMatchObject([
      {
        kind: 'findings',
        step: 2,
        findings: [{ measured: { share: Number.NaN, list: [Number.POSITIVE_INFINITY, 'word'] } }],
      },
    ]);
  });

  it('reads rows that are longer than a piece', () => {
    const run = new RunFiles();
    const text = 'é'.repeat(3 * 2 ** 20);
    run.add('metrics.jsonl', { step: 1, text }, { step: 2, reward: 4 });
    for (const step of [1, 2]) run.add('timings.jsonl', { step, ended_at: step });
    const items = new RunFollower(run.folder, BEGIN, false).next(MANY);
    expect(items).toMatchObject([{ step: 1 }, { step: 2, values: { reward: 4 } }]);
  });

  it('refuses a row that never ends', () => {
    const run = new RunFiles();
    run.addText('timings.jsonl', '{"step":1');
    truncateSync(join(run.folder, 'timings.jsonl'), MAX_LINE_BYTES + 1);
    expect(() => new RunFollower(run.folder, BEGIN, false).next(MANY)).toThrow(
      /timings\.jsonl:1: the row is longer than 67 MB/,
    );
  });
});
