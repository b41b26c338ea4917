import { stripVTControlCharacters } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { formatDuration } from './duration.js';
import { createReporter, formatStep, type Output, type StepRow } from './live.js';

const ROW: StepRow = {
  step: 3,
  steps: 100,
  reward: 0.5321,
  rewardStd: 0.21,
  length: 83.24,
  clippedRatio: 0.05,
  tokensPerSecond: 1234.4,
  secondsLeft: 123,
  loss: -0.00123,
  gradNorm: 0.4567,
};

/** An output that keeps what is written. */
function sink(tty?: { columns: number }): Output & { text: string } {
  return {
    text: '',
    ...(tty && { isTTY: true, columns: tty.columns }),
    write(text: string) {
      this.text += text;
    },
  };
}

/** What a terminal shows in the end: a cleared line is gone, and the cursor is on or off. */
function screen(text: string): { lines: string[]; cursor: boolean } {
  const cursor = text.lastIndexOf('\x1b[?25h') >= text.lastIndexOf('\x1b[?25l');
  const lines = text.split('\n').map((line) => line.split('\r\x1b[2K').at(-1)!);
  return { lines: lines.map((line) => stripVTControlCharacters(line)), cursor };
}

describe('on a terminal', () => {
  beforeAll(() => void vi.stubEnv('TERM', 'xterm'));
  afterAll(() => void vi.unstubAllEnvs());

  it('redraws one line in place and keeps notes above it', () => {
    const stream = sink({ columns: 60 });
    const reporter = createReporter({ stream });
    reporter.step(ROW);
    reporter.step({ ...ROW, step: 4 });
    expect(stream.text).not.toContain('\n');
    expect(screen(stream.text)).toEqual({ lines: [formatStep({ ...ROW, step: 4 }, 59)], cursor: false });
    reporter.note('saved');
    expect(screen(stream.text).lines).toEqual(['saved', formatStep({ ...ROW, step: 4 }, 59)]);
    reporter.done({ text: 'finished', data: {} });
    expect(screen(stream.text)).toEqual({ lines: ['saved', 'finished', ''], cursor: true });
  });

  it('restores the cursor when the run ends otherwise, once', () => {
    const stream = sink({ columns: 60 });
    const before = process.listenerCount('exit');
    const reporter = createReporter({ stream });
    reporter.close();
    expect(stream.text).toBe('');
    reporter.step(ROW);
    expect(process.listenerCount('exit')).toBe(before + 1);
    reporter.close();
    const { length } = stream.text;
    reporter.close();
    expect(stream.text.length).toBe(length);
    expect(screen(stream.text)).toEqual({ lines: [''], cursor: true });
    expect(process.listenerCount('exit')).toBe(before);
  });

  it('takes an unknown width for 80 columns', () => {
    const stream = sink({ columns: 0 });
    const reporter = createReporter({ stream });
    reporter.step(ROW);
    reporter.close();
    expect(stream.text).toContain('1234');
  });

  it('never fills the width', () => {
    for (let columns = 1; columns < 140; columns++) {
      const stream = sink({ columns });
      const reporter = createReporter({ stream });
      reporter.step({ ...ROW, kl: 0.01 });
      expect(screen(stream.text).lines[0]!.length).toBeLessThan(columns);
      reporter.close();
    }
  });
});

describe('without a terminal', () => {
  it('treats a dumb terminal like none', () => {
    vi.stubEnv('TERM', 'dumb');
    const stream = sink({ columns: 80 });
    createReporter({ stream }).step(ROW);
    vi.unstubAllEnvs();
    expect(stream.text).not.toContain('\x1b');
    expect(stream.text).toMatch(/^step 3.*\n$/);
  });

  it('prints one plain line a step', () => {
    const stream = sink();
    const reporter = createReporter({ stream });
    reporter.note('start');
    reporter.step({ ...ROW, kl: 0.0123 });
    reporter.done({ text: 'finished', data: {} });
    expect(stream.text).toBe(
      'start\nstep 3/100  reward 0.532 (sd 0.210)  length 83.2  tokens/s 1234  left 2m 03s  cut 5%  kl 0.0123  grad 0.457  loss -0.00123\nfinished\n',
    );
  });
});

describe('for programs', () => {
  it('writes only JSON to the stream, notes elsewhere, even on a terminal', () => {
    const stream = sink({ columns: 80 });
    const chatter = sink();
    const reporter = createReporter({ json: true, stream, chatter });
    reporter.note('start');
    reporter.step(ROW);
    reporter.done({ text: 'finished', data: { evalAfter: 0.9 } });
    expect(
      stream.text
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line) as unknown),
    ).toEqual([ROW, { evalAfter: 0.9 }]);
    expect(chatter.text).toBe('start\n');
  });
});

describe('formatDuration', () => {
  it.each([
    [0, '0s'],
    [59.4, '59s'],
    [59.6, '1m 00s'],
    [3599, '59m 59s'],
    [3720, '1h 02m'],
    [360000, '100h 00m'],
  ])('%d', (seconds, text) => expect(formatDuration(seconds)).toBe(text));
});
