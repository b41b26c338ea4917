import { appendFileSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { bytesAt, fieldsOf, integerAt, textAt } from '../../formats/protobuf.js';
import { BrokenParts } from '../../trace/readers/reading.js';
import { eventsIn } from '../../trace/readers/tensorboard/event-file.js';
import { completion, finding, RunFiles } from '../run-files.test.helper.js';
import { RunFollower } from '../run-follower.js';
import { histogram } from './summary.js';
import { openTensorBoard } from './tensorboard.js';

/** What our own reader finds in each file of a folder. */
function eventsOf(run: RunFiles) {
  const folder = join(run.folder, 'tensorboard');
  const broken = new BrokenParts();
  const files = readdirSync(folder).sort();
  const events = files.map((name) => [...eventsIn(join(folder, name), broken)]);
  expect(broken.first).toEqual([]);
  return events;
}

/** The step with which each file goes on: that of its second event, a `SessionLog` of status START. */
function startsIn(run: RunFiles): (number | undefined)[] {
  const folder = join(run.folder, 'tensorboard');
  return readdirSync(folder)
    .sort()
    .map((name) => {
      const bytes = readFileSync(join(folder, name));
      const first = 16 + Number(bytes.readBigUInt64LE(0));
      const start = first + 12;
      const event = [...fieldsOf(bytes.subarray(start, start + Number(bytes.readBigUInt64LE(first))))];
      expect([...bytesAt(event, 7)[0]!]).toEqual([0x08, 1]);
      return integerAt(event, 2);
    });
}

it('writes scalars, and the texts of the best and the worst completion and of findings', async () => {
  const run = new RunFiles();
  run.add('findings.jsonl', finding(1));
  run.step(1, { 'rewards/kind/mean': 'NaN' });
  run.add('eval.jsonl', { step: 1, greedy: { reward: 0.5 } });
  const cursor = run.cursor('tensorboard');
  const sink = openTensorBoard({ folder: run.folder, cursor, done: 0 });
  await sink.send(new RunFollower(run.folder, cursor.delivered, true).next(9));
  await sink.close?.();
  const events = eventsOf(run).flat();
  const value = (tag: string) => events.find((event) => event.tag === tag)?.value;
  expect(events.every(({ step }) => step === 1)).toBe(true);
  expect([value('reward'), value('loss'), value('step_time'), value('eval/greedy/reward')]).toEqual([
    0.25, -1, 2, 0.5,
  ]);
  expect(value('rewards/kind/mean')).toBeNaN();
  expect(value('ended_at')).toBeUndefined();
  const best = value('completions/best/text_summary');
  expect(best).toContain('reward 1 (kind 1, brief 0.5) · advantage 1.000 · 3 tokens · ended by stop');
  // Whatever a model writes stays a block of code.
  expect(best).toContain('\n    hi 1\n    ```\n    <b>0</b>');
  expect(value('completions/worst/text_summary')).toContain('reward 0.25 ');
  expect(value('findings/text_summary')).toMatch(/^- B49\.share warn: .*75 % of the KL \(largest 8 nats\)/);
});

it('begins a file per start, which says where it goes on, and cuts earlier ones back', async () => {
  const run = new RunFiles();
  for (let step = 1; step <= 3; step++) run.step(step);
  const cursor = run.cursor('tensorboard');
  for (const done of [0, 2]) {
    const sink = openTensorBoard({ folder: run.folder, cursor, done });
    const items = new RunFollower(run.folder, cursor.delivered, false).next(9);
    await sink.send(items);
    cursor.advance(items);
    await sink.close?.();
    // Killed within an event.
    for (const name of readdirSync(join(run.folder, 'tensorboard')))
      if (done === 0) appendFileSync(join(run.folder, 'tensorboard', name), Buffer.alloc(11, 1));
  }
  expect(startsIn(run)).toEqual([0, 3]);
  const steps = eventsOf(run).map((events) => [...new Set(events.map(({ step }) => step))]);
  expect(steps).toEqual([[1, 2], [3]]);
});

it('leaves rewards that failed out of histograms, and writes none of nothing', async () => {
  const run = new RunFiles();
  run.add('completions.jsonl', completion(1, 0, 'NaN'), completion(1, 1, 'NaN'));
  run.add('metrics.jsonl', { step: 1 });
  run.add('timings.jsonl', { step: 1, ended_at: 3 });
  const cursor = run.cursor('tensorboard');
  const sink = openTensorBoard({ folder: run.folder, cursor, done: 0 });
  await sink.send(new RunFollower(run.folder, cursor.delivered, true).next(9));
  expect(eventsOf(run).flat()).toEqual([]);
});

it('counts every value of a histogram once', () => {
  const values = [3, -1, -1, 0.5, 7, 7, 7];
  const fields = [...fieldsOf(histogram('lengths', values))];
  const inner = [...fieldsOf(bytesAt(fields, 5)[0]!)];
  const doubles = inner.flatMap(({ value }) =>
    typeof value === 'object' && 'double' in value ? [value.double] : [],
  );
  expect(textAt(fields, 1)).toBe('lengths');
  expect(doubles).toEqual([-1, 7, 7, 22.5, 158.25]);
  const packed = (number: number) => {
    const bytes = Buffer.from(bytesAt(inner, number)[0]!);
    return Array.from({ length: bytes.length / 8 }, (_, i) => bytes.readDoubleLE(8 * i));
  };
  const [limits, counts] = [packed(6), packed(7)];
  expect(limits.at(-1)).toBe(7);
  expect(counts.reduce((a, b) => a + b)).toBe(values.length);
  expect([counts[0], counts.at(-1)]).toEqual([2, 3]);
  expect(histogram('flat', [2, 2]).length).toBeLessThan(150);
});
