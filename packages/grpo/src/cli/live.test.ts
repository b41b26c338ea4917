import { stripVTControlCharacters } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { StageProgress } from '../progress/watch.js';
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

/** An output that keeps the text written to it. */
function sink(tty?: { columns: number }): Output & { text: string } {
  return {
    text: '',
    ...(tty && { isTTY: true, columns: tty.columns }),
    write(text: string) {
      this.text += text;
    },
  };
}

/** The text that a terminal shows in the end, without cleared lines. */
function screen(text: string): string[] {
  const lines = text.split('\n').map((line) => line.split('\r\x1b[2K').at(-1)!);
  return lines.map((line) => stripVTControlCharacters(line));
}

const ROLLOUT: StageProgress = {
  stage: 'rollout',
  done: 0,
  total: 32,
  unit: 'completions',
  tokens: 0,
  share: 0,
};

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe('on a terminal', () => {
  beforeAll(() => void vi.stubEnv('TERM', 'xterm'));
  afterAll(() => void vi.unstubAllEnvs());

  it('redraws one line in place and keeps notes above it', () => {
    const stream = sink({ columns: 60 });
    const reporter = createReporter({ stream });
    reporter.step(ROW);
    reporter.step({ ...ROW, step: 4 });
    expect(stream.text).not.toContain('\n');
    expect(screen(stream.text)).toEqual([formatStep({ ...ROW, step: 4 }, 59)]);
    reporter.note('saved');
    expect(screen(stream.text)).toEqual(['saved', formatStep({ ...ROW, step: 4 }, 59)]);
    reporter.done({ text: 'finished', data: {} });
    expect(screen(stream.text)).toEqual(['saved', 'finished', '']);
  });

  it('takes the line away when the run ends otherwise, once', () => {
    const stream = sink({ columns: 60 });
    const reporter = createReporter({ stream });
    reporter.close();
    expect(stream.text).toBe('');
    reporter.step(ROW);
    reporter.close();
    const { length } = stream.text;
    reporter.close();
    expect(stream.text.length).toBe(length);
    expect(screen(stream.text)).toEqual(['']);
  });

  it('shows the stage in progress once it has taken a second, before the last step', () => {
    const stream = sink({ columns: 100 });
    const reporter = createReporter({ stream });
    const lines = () => screen(stream.text);
    reporter.progress(ROLLOUT);
    vi.advanceTimersByTime(900);
    expect(stream.text).toBe('');
    vi.advanceTimersByTime(1100);
    expect(lines()).toEqual(['rollout 0/32 completions  for 2s']);
    vi.advanceTimersByTime(1900);
    reporter.progress({ ...ROLLOUT, done: 3, tokens: 800, share: 0.25 });
    vi.advanceTimersByTime(100);
    expect(lines()).toEqual(['rollout 3/32 completions  200 tokens/s  left 12s']);
    reporter.note('a note');
    expect(lines()).toEqual(['a note', 'rollout 3/32 completions  200 tokens/s  left 12s']);
    // Time goes on also where nothing is reported.
    vi.advanceTimersByTime(4000);
    expect(lines()[1]).toBe('rollout 3/32 completions  100 tokens/s  left 24s');
    reporter.step(ROW);
    expect(lines()[1]).toBe(formatStep(ROW, 99));
    reporter.progress(ROLLOUT);
    vi.advanceTimersByTime(1100);
    expect(lines()[1]).toBe(
      'rollout 0/32 completions  for 1s  |  step 3/100  reward 0.532 (sd 0.210)  left 2m 03s  length 83.2',
    );
    reporter.close();
    expect(vi.getTimerCount()).toBe(0);
  });

  it('moves once a second also where no stage takes one', () => {
    const stream = sink({ columns: 100 });
    const reporter = createReporter({ stream });
    const seen = new Set<string>();
    for (let i = 0; i < 20; i++) {
      reporter.progress({ ...ROLLOUT, stage: `stage ${i}` });
      vi.advanceTimersByTime(300);
      if (stream.text !== '') seen.add(screen(stream.text)[0]!);
    }
    reporter.close();
    // Six seconds of them.
    expect(seen.size).toBeGreaterThanOrEqual(4);
    expect(seen.size).toBeLessThanOrEqual(6);
  });

  it('shows a stage of unknown length by what is done', () => {
    const stream = sink({ columns: 60 });
    const reporter = createReporter({ stream });
    const reading = { stage: 'reading', total: 0, unit: 'step records' };
    reporter.progress({ ...reading, done: 0 });
    vi.advanceTimersByTime(3000);
    reporter.progress({ ...reading, done: 12 });
    vi.advanceTimersByTime(100);
    expect(screen(stream.text)).toEqual(['reading 12 step records  for 3s']);
    reporter.close();
  });

  it('counts another stage, and one that begins again, from its beginning', () => {
    const stream = sink({ columns: 100 });
    const reporter = createReporter({ stream });
    const loading = { stage: 'loading the model', total: 10e9, unit: 'bytes' };
    reporter.progress({ ...loading, done: 0 });
    vi.advanceTimersByTime(1900);
    reporter.progress({ ...loading, done: 1e9 });
    vi.advanceTimersByTime(100);
    expect(screen(stream.text)).toEqual(['loading the model 1.0 GB/10 GB  500 MB/s  left 18s']);
    reporter.progress({ ...loading, done: 0 });
    vi.advanceTimersByTime(1000);
    reporter.progress({ ...loading, done: 2e9 });
    vi.advanceTimersByTime(100);
    expect(screen(stream.text)).toEqual(['loading the model 2.0 GB/10 GB  1.8 GB/s  left 4s']);
    reporter.close();
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
      expect(screen(stream.text)[0]!.length).toBeLessThan(columns);
      reporter.progress(ROLLOUT);
      vi.advanceTimersByTime(1500);
      expect(screen(stream.text)[0]!.length).toBeLessThan(columns);
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
      'start\nstep 3/100  reward 0.532 (sd 0.210)  left 2m 03s  length 83.2  tokens/s 1234  cut 5%  kl 0.0123  grad 0.457  loss -0.00123\nfinished\n',
    );
  });

  it('shows that no completion has a reward', () => {
    expect(formatStep({ ...ROW, reward: Number.NaN, rewardStd: 0 }, 40)).toBe(
      'step 3/100  reward none  left 2m 03s',
    );
  });

  it('says how many groups teach, and that none does', () => {
    const shown = (differing: number, width: number) =>
      formatStep({ ...ROW, groups: { all: 4, differing } }, width);
    expect(shown(3, 70)).toBe('step 3/100  reward 0.532 (sd 0.210)  signal 3/4  left 2m 03s');
    expect(shown(0, 90)).toContain('  signal 0/4: no group has two different rewards');
    expect(shown(0, 50)).toBe('step 3/100  reward 0.532 (sd 0.210)  signal 0/4');
  });

  it('names the slowest stage, and first what is at fault', () => {
    const time = { seconds: 1.6, checks: 0.1, stage: 'score', share: 0.94 };
    const shown = (fault: string | undefined, width = 200) =>
      formatStep({ ...ROW, time: { ...time, fault } }, width);
    expect(shown(undefined)).toContain('  tokens/s 1234  time 1.6s, score 94%  cut 5%');
    expect(shown('the reward slow, not the model')).toContain(
      '(sd 0.210)  time 1.6s, score 94%: the reward slow, not the model  left 2m 03s  length 83.2',
    );
    const audited = { ...time, checks: 1.44 };
    expect(formatStep({ ...ROW, time: audited }, 200)).toContain('  time 1.6s + 1.4s of checks, score 94%');
    expect(shown('the reward slow, not the model', 70)).toBe(
      'step 3/100  reward 0.532 (sd 0.210)  time 1.6s, score 94%  left 2m 03s',
    );
  });

  it('prints the stage in progress after 25 seconds of silence', () => {
    const stream = sink();
    const reporter = createReporter({ stream });
    reporter.progress(ROLLOUT);
    vi.advanceTimersByTime(20_000);
    reporter.note('a note');
    vi.advanceTimersByTime(24_000);
    reporter.progress({ ...ROLLOUT, done: 8, tokens: 4900, share: 0.5 });
    expect(stream.text).toBe('a note\n');
    vi.advanceTimersByTime(61_000);
    expect(stream.text.split('\n')).toEqual([
      'a note',
      'rollout 8/32 completions  109 tokens/s  left 45s',
      'rollout 8/32 completions  70 tokens/s  left 1m 10s',
      'rollout 8/32 completions  52 tokens/s  left 1m 35s',
      '',
    ]);
    reporter.step(ROW);
    vi.advanceTimersByTime(60_000);
    expect(stream.text).toMatch(/\nstep 3.*\n$/);
    reporter.close();
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('for programs', () => {
  it('says how far it is on the other stream', () => {
    const stream = sink({ columns: 80 });
    const chatter = sink();
    const reporter = createReporter({ json: true, stream, chatter });
    reporter.progress(ROLLOUT);
    vi.advanceTimersByTime(31_000);
    expect([stream.text, chatter.text]).toEqual(['', 'rollout 0/32 completions  for 25s\n']);
    reporter.close();
  });

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
