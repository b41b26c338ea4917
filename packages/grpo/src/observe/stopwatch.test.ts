import { describe, expect, it } from 'vitest';
import { Stopwatch } from './stopwatch.js';

describe('a stopwatch', () => {
  it('gives back what the work gives, and adds up what a stage takes', async () => {
    const clock = new Stopwatch();
    const sum = () => Array.from({ length: 1e5 }, (_, i) => i).reduce((a, b) => a + b);
    expect(clock.stage('first', sum)).toBe(4999950000);
    const once = clock.seconds.first!;
    clock.stage('first', sum);
    expect(once).toBeGreaterThan(0);
    expect(clock.seconds.first).toBeGreaterThan(once);
    await expect(clock.stage('second', async () => 'done')).resolves.toBe('done');
    expect(Object.keys(clock.seconds)).toEqual(['first', 'second']);
  });
});
