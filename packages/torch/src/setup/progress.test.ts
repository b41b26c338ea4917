import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { describeBytes, startProgress, withProgress } from './progress.js';
import { type Say, speaker } from './say.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it('is a line after each 30 seconds where there is no terminal', () => {
  const said: string[] = [];
  const progress = startProgress((line) => said.push(line));
  for (let done = 0; done < 7; done++) {
    progress.show(`${done} of 9 files`);
    vi.advanceTimersByTime(10_000);
  }
  progress.end();
  expect(said).toEqual(['  2 of 9 files  30 s', '  5 of 9 files  60 s']);
  expect(vi.getTimerCount()).toBe(0);
});

it('is one line on a terminal, which moves with the time, and is taken away', async () => {
  const over: string[] = [];
  const say: Say = () => expect.unreachable();
  say.over = (line) => over.push(line);
  await withProgress(say, async (progress) => {
    vi.advanceTimersByTime(400);
    progress.show('linking');
    vi.advanceTimersByTime(1000);
  });
  expect(over).toEqual([...Array(5).fill('  linking  1 s'), '']);
});

it('tells bytes of all, or of what is not known', () => {
  expect(describeBytes(60e6, 200e6)).toBe(' 30 %  60 of 200 MB');
  expect(describeBytes(60e6)).toBe('60 MB');
});

it('leaves no rest of a line on the terminal', () => {
  let text = '';
  const stream = (isTTY: boolean) =>
    ({ isTTY, write: (chunk: string) => (text += chunk) }) as unknown as NodeJS.WriteStream;
  const say = speaker(stream(true));
  say.over?.('half');
  say('done');
  expect(text).toBe('\r\x1b[Khalf\r\x1b[Kdone\n');
  expect(speaker(stream(false)).over).toBeUndefined();
  expect(speaker(undefined).over).toBeUndefined();
});
