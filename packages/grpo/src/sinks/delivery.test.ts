import { describe, expect, it } from 'vitest';
import { Delivery } from './delivery.js';
import { RunFiles } from './run-files.test.helper.js';
import { RunFollower } from './run-follower.js';
import { type Item, type RunOutcome, type Sink, Undelivered } from './sink.js';

const DONE: RunOutcome = { how: 'done', steps: 3 };

/** A delivery of three steps to a sink that answers as `answers` says, call after call, and then takes all. */
function deliveryOf(
  answers: (Error | undefined)[],
  onWait: (delivery: Delivery) => void = (one) => one.end(DONE),
) {
  const run = new RunFiles();
  const taken: string[] = [];
  const notes: string[] = [];
  const waits: number[] = [];
  let closed = 0;
  const sink: Sink = {
    place: 'here',
    async send(items: readonly Item[]) {
      const answer = answers.shift();
      if (answer) throw answer;
      taken.push(...items.map(({ kind, step }) => `${kind} ${step}`));
    },
    async close() {
      closed++;
    },
  };
  const cursor = run.cursor('webhook');
  const open = () => {
    const wait = async (seconds: number) => {
      waits.push(seconds);
      onWait(delivery);
    };
    const follower = new RunFollower(run.folder, cursor.delivered, false);
    const delivery = new Delivery('webhook', sink, follower, cursor, (text) => notes.push(text), wait);
    return delivery;
  };
  return { run, taken, notes, waits, open, closed: () => closed };
}

const threeSteps = (run: RunFiles) => {
  for (let step = 1; step <= 3; step++) run.step(step);
};

describe('Delivery', () => {
  it('takes what there is, then waits for more, then delivers the end', async () => {
    const { run, taken, waits, open, closed } = deliveryOf([]);
    threeSteps(run);
    await open().run();
    expect(taken).toEqual(['step 1', 'step 2', 'step 3', 'end 3']);
    expect(waits).toHaveLength(1);
    expect(closed()).toBe(1);
  });

  it('sends the same items later and later until they are taken, and speaks of it once', async () => {
    const failures = Array.from({ length: 8 }, () => new Undelivered('nobody is there'));
    let calls = 0;
    const { run, taken, notes, waits, open } = deliveryOf(failures, (delivery) => {
      if (++calls === 9) delivery.end(DONE);
    });
    threeSteps(run);
    await open().run();
    expect(waits.slice(0, 8)).toEqual([1, 2, 4, 8, 16, 32, 60, 60]);
    expect(taken).toEqual(['step 1', 'step 2', 'step 3', 'end 3']);
    expect(notes).toEqual([expect.stringContaining('nobody is there'), expect.stringContaining('again')]);
  });

  it.each([
    [77, 77],
    [1e9, 3600],
  ])('waits as long as it is asked to, an hour at most: %d s', async (asked, waited) => {
    const { run, waits, open } = deliveryOf([new Undelivered('busy', asked)]);
    threeSteps(run);
    await open().run();
    expect(waits[0]).toBe(waited);
  });

  it('says what is left when it is stopped, and delivers it the next time, each step once', async () => {
    const { run, taken, open } = deliveryOf([undefined, new Undelivered('away')], (delivery) => {
      if (taken.length > 1) delivery.end(DONE);
      if (taken.length === 1 && delivery.left.steps === 0) {
        run.step(2);
        run.step(3);
      }
      if (delivery.left.reason !== undefined) delivery.stop();
    });
    run.step(1);
    const first = open();
    await first.run();
    expect(first.left).toEqual({ name: 'webhook', steps: 2, reason: 'away' });
    expect(taken).toEqual(['step 1']);
    await open().run();
    expect(taken).toEqual(['step 1', 'step 2', 'step 3', 'end 3']);
  });

  it('ends with a note where the sink breaks, and leaves the run alone', async () => {
    const { run, notes, taken, open } = deliveryOf([new TypeError('a bug')]);
    threeSteps(run);
    const delivery = open();
    await delivery.run();
    expect(taken).toEqual([]);
    expect(notes).toEqual([expect.stringContaining('webhook broke: a bug')]);
    expect(delivery.left).toMatchObject({ steps: 3, reason: 'a bug' });
  });
});
