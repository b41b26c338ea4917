import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Reason } from './describe-error.js';
import { scoreSingly } from './score-singly.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe('completions one at a time, after a batch of eight that took three seconds', () => {
  /** Places that were scored, when each takes so many seconds; those without an answer fail. */
  async function scoredOf(seconds: (i: number) => number, answers: (i: number) => boolean) {
    const asked: number[] = [];
    const score = async (i: number) => {
      asked.push(i);
      vi.advanceTimersByTime(1000 * seconds(i));
      if (!answers(i)) throw new Reason(`took longer than ${seconds(i)} s`);
      return [i];
    };
    const result = await scoreSingly(score, 8, { milliseconds: 3000, findAll: true });
    return { asked, ...result };
  }

  it('are given up after four of which each takes as long, and gives nothing', async () => {
    const { asked, reasons, cut } = await scoredOf(
      () => 3,
      () => false,
    );
    expect([asked, cut]).toEqual([[0, 1, 2, 3], true]);
    expect(reasons.get(3)).toBe('took longer than 3 s');
    expect(reasons.get(4)).toBe('was not scored: the failures before it took too long');
  });

  it('are all scored where one of the first answers, or failures are quick', async () => {
    const [hanging, quick] = [
      await scoredOf(
        (i) => (i === 3 || i > 4 ? 0.1 : 3),
        (i) => i === 3 || i > 4,
      ),
      await scoredOf(
        () => 0.1,
        () => false,
      ),
    ];
    expect([hanging.asked.length, [...hanging.reasons.keys()]]).toEqual([8, [0, 1, 2, 4]]);
    expect([quick.asked.length, quick.reasons.size]).toEqual([8, 8]);
  });
});
