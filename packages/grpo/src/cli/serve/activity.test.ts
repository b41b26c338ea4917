import { expect, it, vi } from 'vitest';
import { reportActivity } from './activity.js';

it('tells what the server does every ten seconds, and nothing while it does nothing', () => {
  vi.useFakeTimers();
  const lines: string[] = [];
  const engine = { load: { running: 0, waiting: 0, tokens: 100 } };
  const server = { answered: 2 };
  {
    using _ = reportActivity(engine, server, (line) => lines.push(line));
    vi.advanceTimersByTime(10_000);
    expect(lines).toEqual([]);
    engine.load = { running: 3, waiting: 1, tokens: 600 };
    server.answered = 4;
    vi.advanceTimersByTime(10_000);
    expect(lines).toEqual(['3 completions running, 1 waiting, 50 tokens/s, 4 requests answered']);
  }
  vi.advanceTimersByTime(60_000);
  expect(lines).toHaveLength(1);
  vi.useRealTimers();
});
