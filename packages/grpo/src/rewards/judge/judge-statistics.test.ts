import { describe, expect, it } from 'vitest';
import { alarmsOf } from './health.js';
import { JudgeStatistics } from './judge-statistics.js';

describe('the health of a judge', () => {
  function health(seconds: number[], fallbacks: number, completions: number) {
    const statistics = new JudgeStatistics();
    for (const one of seconds) statistics.took(one);
    statistics.judgedBy('first', false, completions - fallbacks);
    statistics.judgedBy('second', true, fallbacks);
    return alarmsOf(statistics.counts, 'first: HTTP 500');
  }
  const requests = (slow: number, seconds: number) =>
    Array.from({ length: 100 }, (_, i) => (i < slow ? seconds : 0.5));

  it('is well up to 10 % of fallbacks and 3 s', () => {
    expect(health(requests(5, 9), 10, 100)).toEqual({});
    expect(health(requests(6, 3), 10, 100)).toEqual({});
    expect(health([9, 9, 9], 3, 3)).toEqual({});
  });

  it('says what is wrong beyond', () => {
    expect(health(requests(6, 3.1), 11, 100)).toEqual({
      slow: expect.stringContaining(
        'of 100 requests half took at least 0.5 s, and one in twenty at least 3.1 s',
      ),
      fallback: expect.stringContaining(
        '11 of 100 completions (11 %) were judged by a fallback, since first: HTTP 500',
      ),
    });
  });
});
