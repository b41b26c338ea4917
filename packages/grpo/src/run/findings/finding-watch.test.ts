import { expect, it } from 'vitest';
import { FindingWatch, type Seen } from './finding-watch.js';

const gap: Seen = { code: 'B39.gap', severity: 'warn' };

/** What is told on each step, as short texts. */
function told(steps: readonly (readonly Seen[])[]): string[] {
  const watch = new FindingWatch();
  return steps.flatMap((findings, i) => {
    const { begun, changed, ended } = watch.see(i + 1, findings);
    return [
      ...begun.map(({ code }) => `${i + 1} new ${code}`),
      ...changed.map(({ finding, before }) => `${i + 1} ${before} → ${finding.severity}`),
      ...ended.map(({ first, last, steps: count }) => `${i + 1} ended ${first}–${last}, ${count}`),
    ];
  });
}

const none = (count: number) => Array.from({ length: count }, () => []);

it('tells of a finding when it begins, not on each step', () => {
  expect(told([[], [gap], [gap], [gap]])).toEqual(['2 new B39.gap']);
});

it('marks what the step before had with the same severity', () => {
  const watch = new FindingWatch();
  const again = (step: number, ...findings: Seen[]) => [...watch.see(step, findings).again];
  const worse: Seen = { ...gap, severity: 'fail' };
  expect([again(1, gap), again(2, gap), again(4, gap), again(5, worse), again(6, worse)]).toEqual([
    [],
    [gap],
    [],
    [],
    [worse],
  ]);
});

it('tells of another severity', () => {
  const worse: Seen = { ...gap, severity: 'fail' };
  expect(told([[gap], [worse], [worse], [gap]])).toEqual(['1 new B39.gap', '2 warn → fail', '4 fail → warn']);
});

it('tells of the end after some quiet steps, and of what then begins anew', () => {
  expect(told([[gap], [gap], [], [gap], ...none(7), [], [gap]])).toEqual([
    '1 new B39.gap',
    '12 ended 1–4, 3',
    '13 new B39.gap',
  ]);
  expect(told([[gap], ...none(7), [gap]])).toEqual(['1 new B39.gap']);
});
